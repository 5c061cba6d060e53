// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The model sees that a reply comes from the person, and whether it is one of the options.
func TestReplied(t *testing.T) {
	t.Parallel()
	const free, choice = `{"question":"Which?"}`, `{"question":"Which?","options":["use it","skip it"]}`
	for name, tt := range map[string]struct{ arguments, answer, want string }{
		"freely":            {free, "blue", "The person replied: blue"},
		"an option":         {choice, "skip it", "The person chose an option: skip it"},
		"with blanks":       {choice, " skip it\n", "The person chose an option:  skip it\n"},
		"none of them":      {choice, "42.10", "The person replied, with none of the options: 42.10"},
		"in other letters":  {choice, "Skip it", "The person replied, with none of the options: Skip it"},
		"more than a word":  {choice, "skip it\nand use 3", "The person replied, with none of the options: skip it\nand use 3"},
		"no question (any)": {`{`, "yes", "The person replied: yes"},
	} {
		if got := howReplied(&turn.Call{Tool: toolapi.ToolAskUser, Arguments: tt.arguments}, tt.answer) + tt.answer; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A reply is recorded with how it came, belongs to the person, and is shown to the model word for word, also by another loop.
func TestAReplyIsThePersons(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config.Config{}, nil, says("", question("Which colour?")), says("done"))
	out := mustRun(t, w, nil)
	mustRun(t, w, map[string]string{out.Waiting.ID: "blue"})
	turns := w.journal.load()
	if res := turns[0].Results[0]; !res.OK || res.Provenance != toolapi.ProvenanceUser || res.Output != "The person replied: blue" {
		t.Errorf("the reply is %+v", res)
	}
	msgs := conversation.Transcript(w.loop.Config, turns[:1])
	// The model sees the remaining limits after a person let it wait.
	const left = "\n[left: 19 of 20 answers]"
	if last := msgs[len(msgs)-1]; last.Content != "The person replied: blue"+left {
		t.Errorf("told %q", last.Content)
	}
}

// The model sees a person's comment on a decision as the person's words, once, also from another loop.
func TestReasonsOfDecisions(t *testing.T) {
	t.Parallel()
	const id = "a1-s1-c0"
	for name, tt := range map[string]struct {
		call turn.Call
		said string
		// code of the result, "" if it succeeded; told is the end of the message to the model, with its source.
		code, told string
		from       toolapi.Provenance
	}{
		"denied":             {bash("gated"), "Deny", toolapi.CodeApprovalDenied, "in another way.\nThe person says: it is\nFriday", toolapi.ProvenanceUser},
		"approved":           {bash("gated"), "Approve", "", "]\n[the person approved this call, and says: it is\nFriday]", toolapi.ProvenanceWeb},
		"a request denied":   {request("push"), "Deny", toolapi.CodeApprovalDenied, "in another way.\nThe person says: it is\nFriday", toolapi.ProvenanceUser},
		"a request approved": {request("push"), "Approve", "", "go on.\nThe person says: it is\nFriday", toolapi.ProvenanceUser},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p := gatedWorld(t, config.Config{}, nil, says("", tt.call), says("done"))
			p.reasons = map[string]string{id: "it is\nFriday"}
			w.mustAsk(t, nil, id, id)
			p.said[id] = tt.said
			w.mustWait(t, nil, "")
			turns := w.journal.load()
			res := turns[0].Results[0]
			if res.ErrorCode != tt.code || res.Provenance != tt.from || turns[0].Asks[0].Reason != "it is\nFriday" {
				t.Errorf("the result is %+v, recorded %+v", res, turns[0].Asks)
			}
			msgs := conversation.Transcript(w.loop.Config, turns[:1])
			if last := msgs[len(msgs)-1].Content; !strings.HasSuffix(last, tt.told+"\n[left: 19 of 20 answers]") || strings.Count(last, "Friday") != 1 ||
				strings.Count(last, "said no") > 1 {
				t.Errorf("told %q", last)
			}
		})
	}
}

// The result of a call of unknown outcome that a person does not allow again has the person's comment too.
func TestReasonNotToMakeACallAgain(t *testing.T) {
	t.Parallel()
	res := notApproved(turn.Ask{Outcome: turn.AskDenied, Reason: "it was paid twice"}, true, 1<<10)
	if got := result.Render(res); !strings.HasSuffix(got, "No, do not make it again. it was paid twice") || res.Provenance != toolapi.ProvenanceUser {
		t.Errorf("told %q", got)
	}
}

// The reason of a decision about a domain follows it in the answer.
func TestReasonsOfDomainDecisions(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"Deny":                             "the person did not allow example.com",
		"Deny\nuse the mirror\nin the lab": "the person did not allow example.com\nThe person says: use the mirror\nin the lab",
		"AllowRun\nread only":              "example.com can be reached: AllowRun\nThe person says: read only",
		"AllowRun\n ":                      "example.com can be reached: AllowRun",
	} {
		w := newWorld(t, config.Config{RequestDomain: true}, nil, says("", wants("example.com")), says("done"))
		w.loop.Domains = &fakeDomains{allowed: map[string]bool{}}
		out := mustRun(t, w, nil)
		mustRun(t, w, map[string]string{out.Waiting.ID: answer})
		res := w.journal.load()[0].Results[0]
		if says := strings.Contains(want, "says"); res.Output != want || (res.Provenance == toolapi.ProvenanceUser) != says {
			t.Errorf("%q: %+v", answer, res)
		}
	}
}

// The default of a question is marked as a default, and not as the person's words. An answer that comes before the loop looks counts.
func TestTheDefaultCountsAtTheEndOfTheTime(t *testing.T) {
	t.Parallel()
	const id = "a1-s1-c0"
	for name, tt := range map[string]struct {
		answers map[string]string
		over    bool
		want    string
		from    toolapi.Provenance
	}{
		"in time":  {nil, false, "", ""},
		"over":     {nil, true, "There was no reply in time, so the default of your question counts: blue", toolapi.ProvenanceInternal},
		"answered": {map[string]string{id: "red"}, true, "The person replied: red", toolapi.ProvenanceUser},
	} {
		w := newWorld(t, config.Config{}, nil, says("", call(toolapi.ToolAskUser, `{"question":"Which colour?","default":"blue"}`)), says("done"))
		w.person.defaults[id] = true
		w.mustWait(t, nil, id)
		w.person.over[id] = tt.over
		if tt.want == "" {
			w.mustWait(t, tt.answers, id)
			continue
		}
		w.mustWait(t, tt.answers, "")
		if res := w.journal.load()[0].Results[0]; !res.OK || res.Output != tt.want || res.Provenance != tt.from {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// An invalid question is refused, and no person is asked.
func TestQuestionsThatAreNone(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string]string{
		"no JSON":         "Which?",
		"empty":           `{"question":" "}`,
		"nothing":         "",
		"unknown field":   `{"question":"Which?","urgent":true}`,
		"too long":        `{"question":"` + strings.Repeat("x", toolapi.MaxQuestion+1) + `"}`,
		"eleven options":  `{"question":"Which?","options":["1","2","3","4","5","6","7","8","9","10","11"]}`,
		"an empty option": `{"question":"Which?","options":["a",""]}`,
	} {
		w := newWorld(t, config.Config{}, nil, says("", call(toolapi.ToolAskUser, arguments)), says("done"))
		if out := mustRun(t, w, nil); out.Kind != outcome.Completed {
			t.Errorf("%s: %+v", name, out)
			continue
		}
		if step := w.journal.load()[0]; step.Results[0].ErrorCode != toolapi.CodeInvalidArguments || len(step.Asks) > 0 {
			t.Errorf("%s: %+v, asked %+v", name, step.Results[0], step.Asks)
		}
	}
}

// Questions are never refused: the controller asks a person about each.
func TestQuestionsMayBeRepeated(t *testing.T) {
	ask := func() chat.Answer { return says("", question("now?")) }
	w := newWorld(t, config.Config{}, nil, ask(), ask(), ask(), says("done"))
	out := mustRun(t, w, map[string]string{"a1-s1-c0": "no", "a1-s2-c0": "no"})
	if out.Kind != outcome.Awaiting || out.Waiting.ID != "a1-s3-c0" {
		t.Errorf("got %+v", out)
	}
}

// fakeFiles are the files of answers. Each method fails as often as its counter says.
type fakeFiles struct {
	journal             *fakeJournal
	describeFails, fail int
	described, put      int
	// recorded are the files that the journal had when they were put first.
	recorded []turn.File
	files    []turn.File
}

func (f *fakeFiles) Describe(context.Context, turn.Ask) ([]turn.File, error) {
	if f.described++; f.described <= f.describeFails {
		return nil, errFiles
	}
	return f.files, nil
}

func (f *fakeFiles) Put(_ context.Context, a turn.Ask) ([]turn.File, error) {
	if f.put++; f.put == 1 {
		f.recorded = f.journal.load()[0].Asks[0].Files
	}
	if f.put <= f.fail {
		return nil, errFiles
	}
	files := slices.Clone(a.Files)
	files[1].Problem = "it has another content"
	return files, nil
}

var errFiles = errors.New("not now")

// The files of an answer are recorded before they are put into the workspace, and there before the model reads the answer. A step that
// failed is done again by the next loop, and the record stays.
func TestFilesOfAnAnswer(t *testing.T) {
	t.Parallel()
	const id = "a1-s1-c0"
	w := newWorld(t, config.Config{}, nil, says("", question("Where?")), says("", call(toolapi.ToolBash, `{"command":"cat answers/a"}`)), says("done"))
	w.person.brings = map[string]bool{id: true}
	f := &fakeFiles{journal: w.journal, describeFails: 1, fail: 1, files: []turn.File{
		{Path: "answers/a", Size: 3, MediaType: "text/csv", SHA256: "0f", Web: true}, {Path: "answers/b", SHA256: "1f"}, {Path: "answers/c", Problem: "it is gone"},
	}}
	w.loop.Files = f
	w.mustWait(t, nil, id)
	w.person.answers = map[string]string{id: strings.Repeat("x", toolapi.MaxOutputBytes)}
	for _, closed := range []bool{false, true} {
		if _, err := w.loop.Run(t.Context(), w.journal.load()); !errors.Is(err, errFiles) {
			t.Fatalf("it ends with %v", err)
		}
		if ask := w.journal.load()[0].Asks[0]; (ask.Outcome != "") != closed || (len(ask.Files) == 3) != closed {
			t.Errorf("recorded is %+v", ask)
		}
	}
	f.files = nil
	if _, err := w.loop.Run(t.Context(), w.journal.load()); err != nil {
		t.Fatal(err)
	}
	if f.described != 2 || f.put != 2 || len(f.recorded) != 3 {
		t.Errorf("described %d times, put %d times, after %+v was recorded", f.described, f.put, f.recorded)
	}
	res := w.journal.load()[0].Results[0]
	const files = "\n\nFiles with the answer, in the workspace:\n- answers/a (3 bytes, text/csv)\n" +
		"- answers/b is not there: it has another content\n- answers/c is not there: it is gone"
	if !res.OK || !strings.HasPrefix(res.Output, "The person replied: xx") || !strings.HasSuffix(res.Output, turn.OutputCutMark+files) || len(res.Output) > toolapi.MaxOutputBytes {
		t.Errorf("the model reads %d bytes: …%s", len(res.Output), res.Output[max(0, len(res.Output)-300):])
	}
	if got := w.journal.load()[0].Asks[0].Files; got[0].Problem != "" || got[1].Problem != "it has another content" {
		t.Errorf("recorded is in the end %+v", got)
	}
	if from := w.journal.load()[1].Results[0].Provenance; from != toolapi.ProvenanceWeb {
		t.Errorf("after a file of the web a program's output is of %s", from)
	}
}
