// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// check is the look at the skills before the end.
func (r *skillRig) check() Check {
	c := r.collector()
	return Check{c.env, c.client}
}

// The problems of skills are the same before the end as after it, and nothing is proposed.
func TestSkillProblems(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	_, values := enginetest.Secrets()
	r.sandbox.has(".", "SKILL.md", manifestOf("root", "x"))
	r.sandbox.has("skills/bad", "SKILL.md", "no front matter")
	r.sandbox.has("skills/known", "SKILL.md", manifestOf("known", values["api_key"]))
	r.sandbox.has("again", "SKILL.md", manifestOf("root", "y"))
	r.sandbox.has("busy", "SKILL.md", manifestOf("busy", "y"))
	r.sandbox.files["busy/SKILL.md"] = manifestOf("busy", "grows and grows")
	r.sandbox.list.Omitted = 3
	said, err := r.check().Problems(t.Context(), true)
	r.must(err)
	if n := len(r.revisions()); n > 0 {
		t.Errorf("%d revisions were proposed", n)
	}
	delete(r.sandbox.files, "busy/SKILL.md")
	r.sandbox.list.Folders, r.sandbox.list.Omitted = r.sandbox.list.Folders[:4], 0
	var want []string
	for _, no := range r.collect().Rejected {
		want = append(want, `"`+no.Path+`": `+no.Message)
	}
	if diff := cmp.Diff(want, said); diff != "" || len(said) != 3 || strings.Contains(strings.Join(said, ""), values["api_key"]) {
		t.Errorf("-want +got:\n%s", diff)
	}
	// A partial result leaves skills only if the run says so.
	if said, err := r.check().Problems(t.Context(), false); err != nil || len(said) > 0 {
		t.Errorf("of a part it says %q, %v", said, err)
	}
	r.run.Spec.ExtractSkills = v1alpha1.ExtractAlways
	if said, err := r.check().Problems(t.Context(), false); err != nil || len(said) != 3 {
		t.Errorf("of a part it says %q, %v", said, err)
	}
}

// A sandbox that ends programs when it lists its skills is not asked, and one that does not answer is an error.
func TestSkillsThatCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	r.sandbox.features = nil
	r.sandbox.has("skills/bad", "SKILL.md", "no front matter")
	if said, err := r.check().Problems(t.Context(), true); err != nil || len(said) > 0 || r.sandbox.asked > 0 {
		t.Errorf("of a sandbox without the feature: %q, %v, asked %d times", said, err, r.sandbox.asked)
	}
	r.lease.Lose(true)
	if said, err := r.check().Problems(t.Context(), true); err == nil {
		t.Errorf("a worker that holds nothing says %q", said)
	}
}

func TestManifestProblem(t *testing.T) {
	t.Parallel()
	const bad = "# Mail\n"
	for name, tt := range map[string]struct {
		args toolapi.WriteArgs
		want string
	}{
		"a skill":        {args: toolapi.WriteArgs{Path: "skills/mail/SKILL.md", Content: manifestOf("mail", "x")}},
		"no skill":       {args: toolapi.WriteArgs{Path: "skills/mail/SKILL.md", Content: bad}, want: "SKILL.md: line 1: "},
		"the workspace":  {args: toolapi.WriteArgs{Path: "./SKILL.md", Content: bad}, want: "line 1"},
		"a folder":       {args: toolapi.WriteArgs{Path: "mail/SKILL.md", Content: bad}, want: "line 1"},
		"in a skill":     {args: toolapi.WriteArgs{Path: "skills/mail/assets/SKILL.md", Content: bad}},
		"another file":   {args: toolapi.WriteArgs{Path: "skills/mail/README.md", Content: bad}},
		"a part of it":   {args: toolapi.WriteArgs{Path: "SKILL.md", Content: bad, Append: true}},
		"a hostile name": {args: toolapi.WriteArgs{Path: "SKILL.md", Content: "---\nname: \"a\\n[end]\"\ndescription: x\n---\n"}, want: "name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := manifestProblem([]byte(text.JSON(tt.args)))
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) || strings.Contains(got, "\n") {
				t.Errorf("says %q", got)
			}
		})
	}
	if got := manifestProblem([]byte(`{"path":`)); got != "" {
		t.Errorf("of no JSON it says %q", got)
	}
}

// fixedTools return the same result for every call.
type fixedTools struct {
	motorloop.Tools
	result toolapi.Result
}

func (t fixedTools) Call(context.Context, toolapi.Call) (toolapi.Result, error) { return t.result, nil }

// The problem of a SKILL.md is a note beside those of the tool server.
func TestManifestProblemIsANote(t *testing.T) {
	t.Parallel()
	inner := toolapi.Result{OK: true}
	inner.SetParts("wrote 3 bytes\n", "[the disk is nearly full]")
	args := []byte(text.JSON(toolapi.WriteArgs{Path: "skills/x/SKILL.md", Content: "bad"}))
	r, err := Tools{fixedTools{result: inner}}.Call(t.Context(), toolapi.Call{Tool: toolapi.ToolWrite, Arguments: args})
	data, notes := r.Parts()
	if err != nil || data != "wrote 3 bytes\n" || !strings.HasPrefix(notes, "[the disk is nearly full]\n[") || !strings.Contains(notes, "front matter") {
		t.Errorf("data %q, notes %q, %v", data, notes, err)
	}
}
