// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// fakeSkills returns its next entry at each check. An entry that begins with "error " is an error.
type fakeSkills struct {
	says      []string
	succeeded []bool
}

func (s *fakeSkills) Problems(ctx context.Context, succeeded bool) ([]string, error) {
	s.succeeded = append(s.succeeded, succeeded)
	next := ""
	if len(s.says) > 0 {
		next, s.says = s.says[0], s.says[1:]
	}
	if why, is := strings.CutPrefix(next, "error "); is {
		return nil, errors.New(why)
	}
	if next == "" {
		return nil, ctx.Err()
	}
	return strings.Split(next, "\n"), ctx.Err()
}

func TestSkillsBeforeTheEnd(t *testing.T) {
	t.Parallel()
	const ok, part, failed = toolapi.FinishSucceeded, toolapi.FinishPartial, toolapi.FinishFailed
	const bad = `"skills/bad": SKILL.md: line 1: it must begin with a line ---`
	done := says("", finish(ok, "Done."))
	for name, tt := range map[string]struct {
		skills  []string
		none    bool
		found   string
		answers []chat.Answer
		// want is the kind of the outcome or the reason of its failure, codes those of all results, told the last message to the model.
		want, codes, told string
		looks             []bool
	}{
		"they are well": {answers: []chat.Answer{done}, want: "Completed", codes: "ok", looks: []bool{true}},
		"mended": {
			skills: []string{bad}, answers: []chat.Answer{says("", write("SKILL.md")), done, says("", write("SKILL.md")), done}, want: "Completed", codes: "ok not_accepted ok ok",
			told: "would not be kept as they are:\n- " + bad + "\nMend them and call finish again.", looks: []bool{true, true},
		},
		"not mended": {
			skills: []string{bad, bad, bad}, answers: []chat.Answer{done, done, done}, want: "Completed", codes: "not_accepted not_accepted ok", told: bad,
			looks: []bool{true, true},
		},
		"after two other claims": {
			skills: []string{bad}, answers: []chat.Answer{says("", finish(ok, "x", "a")), says("", finish(ok, "x", "b")), done},
			want: "Completed", codes: "not_accepted not_accepted ok",
		},
		"before another claim": {
			skills: []string{bad, bad}, answers: []chat.Answer{done, done, says("", finish(ok, "x", "b"))},
			want: outcome.ReasonAcceptanceFailed, codes: "not_accepted not_accepted not_accepted", looks: []bool{true, true},
		},
		"what is claimed comes first": {
			skills: []string{bad}, answers: []chat.Answer{says("", finish(ok, "x", "a")), says("", finish(part, "x")), says("", finish(part, "x"))},
			want: outcome.ReasonPartial, codes: "not_accepted not_accepted ok", looks: []bool{false}, told: bad,
		},
		"of a part":           {answers: []chat.Answer{says("", finish(part, "Half."))}, want: outcome.ReasonPartial, codes: "ok", looks: []bool{false}},
		"of a failure":        {skills: []string{bad}, answers: []chat.Answer{says("", finish(failed, "No."))}, want: outcome.ReasonFailed, codes: "ok"},
		"not seen at once":    {skills: []string{"error timeout", bad}, answers: []chat.Answer{done, done}, want: "Completed", codes: "not_accepted ok", told: bad, looks: []bool{true, true, true}},
		"not seen":            {skills: []string{"error timeout", "error timeout"}, answers: []chat.Answer{done}, want: "Completed", codes: "ok", looks: []bool{true, true}},
		"the run writes none": {skills: []string{bad}, none: true, answers: []chat.Answer{done}, want: "Completed", codes: "ok"},
		"elsewhere": {
			found: "SKILL.md\ncsv-report/SKILL.md\nskills/a/SKILL.md\nskills/a/templates/SKILL.md\nwork/deep/SKILL.md\nassets/x/SKILL.md\n" +
				"artifacts/x/SKILL.md\n.claude/skills/x/SKILL.md\nnode_modules/x/y/SKILL.md\ngiven/x/SKILL.md\nskills/b/c/SKILL.md\n",
			answers: []chat.Answer{done, done}, want: "Completed", codes: "not_accepted ok", looks: []bool{true, true},
			told: `not collected: "skills/b/c/SKILL.md", "work/deep/SKILL.md". A skill is the workspace itself`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there := inWorkspace("there")
			w := newCallingWorld(t, config.Config{Tools: granted(tt.answers), WritesSkills: !tt.none, Files: []string{"given/x/SKILL.md"}}, func(c toolapi.Call) toolapi.Result {
				if c.Tool == toolapi.ToolGlob && tt.found != "" {
					return toolapi.Result{OK: true, Output: tt.found}
				}
				if c.Tool == toolapi.ToolGlob {
					return toolapi.Result{OK: true, Output: toolapi.GlobNothing}
				}
				return there(c)
			}, tt.answers...)
			skills := &fakeSkills{says: tt.skills}
			w.loop.Skills = skills
			out := mustRun(t, w, nil)
			got := string(out.Kind)
			if out.Failure != nil {
				got = out.Failure.Reason
			}
			if got != tt.want {
				t.Errorf("got %s: %+v", got, out)
			}
			turns := w.journal.load()
			if d := cmp.Diff(tt.codes, codesOf(turns)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tt.looks, skills.succeeded); d != "" {
				t.Errorf("looks (-want +got):\n%s", d)
			}
			told := ""
			for _, turn := range turns {
				for _, res := range turn.Results {
					if res.ErrorCode == result.CodeNotAccepted {
						told = res.Output
					}
				}
			}
			if !strings.Contains(told, tt.told) {
				t.Errorf("told %q", told)
			}
		})
	}
}

// An interrupted check decides nothing.
func TestSkillsAreNotLookedAtByALoopThatEnds(t *testing.T) {
	t.Parallel()
	w := newCallingWorld(t, config.Config{Tools: []string{}, WritesSkills: true}, nil, says("", finish(toolapi.FinishSucceeded, "Done.")))
	ctx, cancel := context.WithCancel(t.Context())
	w.loop.Skills = skillsThatCancel(cancel)
	if _, err := w.run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if turns := w.journal.load(); turns[0].Results[0] != nil {
		t.Errorf("the call came to %+v", turns[0].Results[0])
	}
}

type skillsThatCancel context.CancelFunc

func (c skillsThatCancel) Problems(ctx context.Context, _ bool) ([]string, error) {
	c()
	return nil, ctx.Err()
}
