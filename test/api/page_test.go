// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/page"
)

// window is the page of a person, as its scripts use it.
type window struct {
	r    *rig
	page *page.Page
}

// looks gives a person of the namespace of the run, with these rights, a page of their own.
func (r *rig) looks(user string, may ...string) *window {
	r.t.Helper()
	person(r.ctx, r.t, r.ns, user, may)
	return &window{r, pageOf(r.t, user, r.ns)}
}

func pageOf(t *testing.T, user, namespace string) *page.Page {
	t.Helper()
	c, err := clientAs(user)
	must(t, err)
	p := page.New(func(*http.Request) (page.Person, error) {
		return page.Person{Key: user, Client: c, Namespace: namespace}, nil
	}, page.Own())
	t.Cleanup(p.Close)
	return p
}

func (w *window) asks(method, path, body string) (status int, answer map[string]any) {
	w.r.t.Helper()
	rec := httptest.NewRecorder()
	w.page.ServeHTTP(rec, httptest.NewRequestWithContext(w.r.ctx, method, path, strings.NewReader(body)))
	must(w.r.t, json.Unmarshal(rec.Body.Bytes(), &answer))
	return rec.Code, answer
}

// shown is the only ask that the inbox shows.
func (w *window) shown() map[string]any {
	w.r.t.Helper()
	status, answer := w.asks(http.MethodGet, "/api/inbox?namespace="+w.r.ns, "")
	items, _ := answer["items"].([]any)
	if status != http.StatusOK || len(items) != 1 {
		w.r.t.Fatalf("%d: %v", status, answer)
	}
	return items[0].(map[string]any)
}

// answers sends an answer about what was shown, and returns the words of a refusal.
func (w *window) answers(shown map[string]any, fields string) (status int, refusal string) {
	w.r.t.Helper()
	if action, ok := shown["action"].(map[string]any); ok {
		fields += fmt.Sprintf(`,"digest":%q`, action["digest"])
	}
	body := fmt.Sprintf(`{"uid":%q,"seen":%q%s}`, shown["uid"], shown["seen"], fields)
	status, answer := w.asks(http.MethodPost, fmt.Sprintf("/api/runs/%s/%s/asks/%s", w.r.ns, shown["run"], shown["id"]), body)
	refusal, _ = answer["error"].(string)
	return status, refusal
}

// Each decision that the page offers is one that the API server takes, from a person with the right to it and from no other.
func TestEveryDecisionOfThePage(t *testing.T) {
	const asksDomain = `request_domain:{"domain":"rates.example.org","reason":"The rate is not in the files."}`
	question := func(r *rig) { r.asked(1, `{"question":"Which?","options":["a","b"],"default":"b"}`) }
	approval := func(r *rig) {
		r.said(turnAt(1, "", "bash:"+gitPush))
		r.asksApproval(0)
	}
	domain := func(r *rig) {
		r.said(turnAt(1, "", asksDomain))
		r.asks(v1alpha1.InputDomainRequest, 0)
		r.step()
	}
	unknown := func(r *rig) {
		r.said(turnAt(1, "", `bash:{"command":"pay"}`))
		r.found(0, "a1-s1-c0", turn.UnknownPerson)
		r.step()
	}
	failed := func(r *rig) {
		r.said(turnAt(1, "", "bash:{}"))
		r.failed("Stuck")
		r.step()
	}
	for name, tt := range map[string]struct {
		ask         func(*rig)
		may, mayNot string
		fields      string
		want        v1alpha1.Response
	}{
		"words":               {question, mayRespond, mayApprove, `,"answer":"c"`, v1alpha1.Response{Answer: "c"}},
		"an option":           {question, mayRespond, mayApprove, `,"option":2`, v1alpha1.Response{Answer: "b"}},
		"approve once":        {approval, mayApprove, mayRespond, `,"decision":"ApproveOnce"`, v1alpha1.Response{Decision: "ApproveOnce"}},
		"approve for the run": {approval, mayApprove, mayRespond, `,"decision":"ApproveRun","reason":"fine"`, v1alpha1.Response{Decision: "ApproveRun", Reason: "fine"}},
		"deny":                {approval, mayApprove, mayRespond, `,"decision":"Deny","reason":"to a branch"`, v1alpha1.Response{Decision: "Deny", Reason: "to a branch"}},
		"allow once":          {domain, mayApprove, mayRespond, `,"decision":"AllowOnce"`, v1alpha1.Response{Decision: "AllowOnce"}},
		"allow for the run":   {domain, mayApprove, mayRespond, `,"decision":"AllowRun"`, v1alpha1.Response{Decision: "AllowRun"}},
		"deny a domain":       {domain, mayApprove, mayRespond, `,"decision":"Deny"`, v1alpha1.Response{Decision: "Deny"}},
		"make it again":       {unknown, mayRespond, mayApprove, `,"decision":"Retry"`, v1alpha1.Response{Decision: "Retry"}},
		"it is done":          {unknown, mayRespond, mayApprove, `,"decision":"Done","reason":"paid"`, v1alpha1.Response{Decision: "Done", Reason: "paid"}},
		"go on without":       {unknown, mayRespond, mayApprove, `,"decision":"Skip"`, v1alpha1.Response{Decision: "Skip"}},
		"try again":           {failed, mayRespond, mayApprove, `,"decision":"Retry","guidance":"use port 8080"`, v1alpha1.Response{Decision: "Retry", Guidance: "use port 8080"}},
		"stop":                {failed, mayRespond, mayApprove, `,"decision":"Stop","reason":"enough"`, v1alpha1.Response{Decision: "Stop", Reason: "enough"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := askingRig(t, needsApproval, func(run *v1alpha1.MotorRun) { run.Spec.Tools = append(run.Spec.Tools, "request_domain") })
			tt.ask(r)
			will, dana := r.looks("will@"+r.ns, tt.mayNot), r.looks("dana@"+r.ns, tt.may)
			shown := will.shown()
			if shown["may"] != false || !strings.HasPrefix(fmt.Sprint(shown["role"]), "motorcortex-") {
				t.Errorf("who may not is shown %v", shown)
			}
			if status, refusal := will.answers(shown, tt.fields); status == http.StatusOK || !strings.Contains(refusal, "will@"+r.ns+" may not") {
				t.Errorf("who may not is told %d, %s", status, refusal)
			}
			shown = dana.shown()
			if shown["may"] != true {
				t.Errorf("who may is shown %v", shown)
			}
			if status, refusal := dana.answers(shown, tt.fields); status != http.StatusOK {
				t.Fatalf("%d, %s", status, refusal)
			}
			tt.want.ID, tt.want.RespondedBy = fmt.Sprint(shown["id"]), "dana@"+r.ns
			got := r.response()
			if action, ok := shown["action"].(map[string]any); ok {
				tt.want.Digest = fmt.Sprint(action["digest"])
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			r.step()
			if status, refusal := dana.answers(shown, tt.fields); status != http.StatusConflict || !strings.Contains(refusal, "answered already") && !strings.Contains(refusal, "does not ask that any more") {
				t.Errorf("the same once more: %d, %s", status, refusal)
			}
		})
	}
}

// A person without a right is told which one, in words.
func TestThePageNamesTheRightThatIsMissing(t *testing.T) {
	r := askingRig(t)
	r.asked(1, `{"question":"Which?"}`)
	dana := r.looks("dana@"+r.ns, mayRespond)
	for path, says := range map[string]string{
		"/api/skills?namespace=" + r.ns: `cannot list resource "skills"`,
		"/api/namespaces":               `cannot list resource "namespaces"`,
		"/api/inbox":                    `cannot list resource "motorruns"`,
	} {
		if status, answer := dana.asks(http.MethodGet, path, ""); status != http.StatusForbidden || !strings.Contains(fmt.Sprint(answer["error"]), says) {
			t.Errorf("%s: %d, %v", path, status, answer)
		}
	}
	status, answer := dana.asks(http.MethodGet, "/api/runs/"+r.ns+"/run", "")
	run, _ := answer["run"].(map[string]any)
	if note := fmt.Sprint(run["note"]); status != http.StatusOK || !strings.Contains(note, "motorcortex-viewer") {
		t.Errorf("%d, %v", status, answer)
	}
	if _, me := dana.asks(http.MethodGet, "/api/me", ""); me["user"] != "dana@"+r.ns {
		t.Errorf("%v", me)
	}
}

// The page is told of a change by the API server's own watch.
func TestThePageIsLive(t *testing.T) {
	r := askingRig(t)
	w := r.looks("dana@"+r.ns, mayRespond, mayRead, "get,list,watch skills")
	server := httptest.NewServer(w.page)
	t.Cleanup(server.Close)
	t.Cleanup(w.page.Close)
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, server.URL+"/api/events?namespace="+r.ns, nil)
	must(t, err)
	answer, err := server.Client().Do(req)
	must(t, err)
	defer answer.Body.Close()
	var told strings.Builder
	buffer := make([]byte, 4096)
	until := func(want string) {
		t.Helper()
		for !strings.Contains(told.String(), want) {
			n, err := answer.Body.Read(buffer)
			told.Write(buffer[:n])
			must(t, err)
		}
	}
	until(`"kind":"all"`)
	// Changes that come before a watch began are told as one that may be anything: they are made until one is told by itself.
	for i := 0; !strings.Contains(told.String(), `"kind":"run","namespace":"`+r.ns+`","name":"run"`); i++ {
		must(t, mergePatch(r.ctx, r.run(), fmt.Sprintf(`{"metadata":{"annotations":{"example.org/n":"%d"}}}`, i)))
		n, err := answer.Body.Read(buffer)
		told.Write(buffer[:n])
		must(t, err)
	}
	if strings.Contains(told.String(), "trouble") {
		t.Errorf("a person with all rights is told of %s", &told)
	}
}

// A skill is approved on the page by a person with the right, and the operator takes it for approved.
func TestASkillIsApprovedOnThePage(t *testing.T) {
	r := newSkillRig(t)
	r.create("weather", v1alpha1.SkillSpec{Source: inline("SKILL.md", skillMD("weather", "Ask.")), Policy: v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"bash"}}})
	r.step()
	person(r.ctx, t, r.ns, "eve@"+r.ns, rights{"get,list,watch skills", "get,list,watch skillrevisions", "get,list configmaps"})
	person(r.ctx, t, r.ns, "anna@"+r.ns, rights{"get,list,watch,patch,approve skills", "get,list,watch skillrevisions", "get configmaps"})
	for _, user := range []string{"eve", "anna"} {
		w := &window{&rig{passes: r.passes}, pageOf(t, user+"@"+r.ns, r.ns)}
		status, answer := w.asks(http.MethodGet, "/api/skills/"+r.ns+"/weather", "")
		shown, _ := answer["skill"].(map[string]any)
		if status != http.StatusOK || shown["mayApprove"] != (user == "anna") {
			t.Fatalf("%s: %d, %v", user, status, answer)
		}
		if status, diff := w.asks(http.MethodGet, fmt.Sprintf("/api/skills/%s/weather/diff?revision=%s&path=SKILL.md", r.ns, shown["revision"]), ""); status != http.StatusOK || !strings.Contains(fmt.Sprint(diff["diff"]), "+Ask.") {
			t.Errorf("%s: %d, %v", user, status, diff)
		}
		body, err := json.Marshal(map[string]any{"uid": shown["uid"], "revision": shown["revision"], "contentHash": shown["contentHash"], "policyHash": shown["policyHash"], "seen": shown["seen"]})
		must(t, err)
		status, answer = w.asks(http.MethodPost, "/api/skills/"+r.ns+"/weather/approve", string(body))
		if (status == http.StatusOK) != (user == "anna") {
			t.Errorf("%s: %d, %v", user, status, answer)
		}
	}
	r.step()
	sk := r.want(v1alpha1.SkillApproved, "Approved")
	if sk.Spec.Approval.ApprovedBy != "anna@"+r.ns {
		t.Errorf("%+v", sk.Spec.Approval)
	}
}
