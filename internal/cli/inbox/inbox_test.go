// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/rights"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func waiting(namespace, name string, expires time.Duration, p v1alpha1.PendingInput) v1alpha1.MotorRun {
	p.ID, p.AskTime = "id-"+name, metav1.NewTime(now.Add(-12*time.Second))
	if expires != 0 {
		p.ExpirationTime = metav1.NewTime(now.Add(expires))
	}
	return v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: v1alpha1.MotorRunStatus{PendingInputs: []v1alpha1.PendingInput{p}}}
}

func someRuns() []v1alpha1.MotorRun {
	return []v1alpha1.MotorRun{
		waiting("ns", "later", time.Hour, v1alpha1.PendingInput{Kind: v1alpha1.InputQuestion, Question: "Which\x1b[31m\nof them?"}),
		waiting("ns", "never", 0, v1alpha1.PendingInput{Kind: v1alpha1.InputRetry, Title: "Attempt 1 failed: Stuck"}),
		waiting("other", "release", 12*time.Minute, v1alpha1.PendingInput{
			Kind: v1alpha1.InputApproval, Action: &v1alpha1.PendingAction{Tool: "bash", Arguments: `{"command":"git push origin main"}`},
		}),
		waiting("ns", "agentmail", 29*time.Minute, v1alpha1.PendingInput{Kind: v1alpha1.InputDomainRequest, Domain: "api.example.org:443"}),
	}
}

// reviews are a cluster that knows what the person may do, and counts how often it is asked.
type reviews struct {
	allowed map[string]bool
	asked   []string
}

func (r *reviews) client(t *testing.T) client.Client {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			review, ok := o.(*authorizationv1.SelfSubjectAccessReview)
			if !ok {
				return errors.New("it is no review")
			}
			a := review.Spec.ResourceAttributes
			what := strings.TrimSuffix(strings.Join([]string{a.Verb, a.Resource, a.Namespace, a.Name}, " "), " ")
			r.asked = append(r.asked, what)
			review.Status.Allowed = r.allowed[what]
			return nil
		},
	}).Build()
}

func TestWhatOthersAnswerIsLeftOut(t *testing.T) {
	t.Parallel()
	r := &reviews{allowed: map[string]bool{"respond motorruns ns": true, "approve motorruns other release": true}}
	mine := rights.Of(r.client(t))
	found, hidden, err := collect(t.Context(), mine, someRuns(), false, "")
	var names []string
	for _, e := range found {
		names = append(names, e.Run)
	}
	if diff := cmp.Diff([]string{"release", "later", "never"}, names); err != nil || diff != "" || hidden != 1 {
		t.Errorf("error %v, %d hidden (-want +got):\n%s", err, hidden, diff)
	}
	want := []string{"respond motorruns ns", "approve motorruns other", "approve motorruns other release", "approve motorruns ns", "approve motorruns ns agentmail"}
	if diff := cmp.Diff(want, r.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if all, hidden, err := collect(t.Context(), mine, someRuns(), true, ""); err != nil || len(all) != 4 || hidden != 0 {
		t.Errorf("all are %+v, %d hidden, %v", all, hidden, err)
	}
}

// A person who may change a run may also have it tried again.
func TestRetriesNeedUpdateAlone(t *testing.T) {
	t.Parallel()
	r := &reviews{allowed: map[string]bool{"update motorruns ns": true}}
	found, hidden, err := collect(t.Context(), rights.Of(r.client(t)), someRuns(), false, "")
	if err != nil || len(found) != 1 || found[0].Run != "never" || hidden != 3 {
		t.Errorf("%+v, %d hidden, %v", found, hidden, err)
	}
}

func entries(t *testing.T) []Entry {
	t.Helper()
	found, _, err := collect(t.Context(), rights.Of((&reviews{}).client(t)), someRuns(), true, "")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestWrite(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		format     output.Format
		everywhere bool
		want       string
	}{
		"everywhere": {output.ForPeople, true, `NAMESPACE   RUN         WAITS FOR   WHAT                         SINCE   EXPIRES   ANSWER WITH
other       release     approval    bash: git push origin main   12s     12m       kubectl motor approve release -n other
ns          agentmail   domain      api.example.org:443          12s     29m       kubectl motor allow agentmail -n ns
ns          later       question    Which\u001b[31m of them?     12s     60m       kubectl motor answer later -n ns
ns          never       retry       Attempt 1 failed: Stuck      12s               kubectl motor retry never -n ns
`},
		"names": {output.Name, false, "motorrun.motorcortex.dev/release\nmotorrun.motorcortex.dev/agentmail\nmotorrun.motorcortex.dev/later\nmotorrun.motorcortex.dev/never\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			err := write(&b, tt.format, entries(t), nil, tt.everywhere, now)
			if diff := cmp.Diff(tt.want, b.String()); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestWriteForPrograms(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := write(&b, output.JSON, entries(t)[:1], nil, false, now); err != nil {
		t.Fatal(err)
	}
	var got struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil || len(got.Items) != 1 {
		t.Fatalf("%v, %s", err, &b)
	}
	for key, want := range map[string]any{"namespace": "other", "run": "release", "id": "id-release", "kind": "Approval", "expirationTime": "2026-11-27T12:12:00Z"} {
		if got.Items[0][key] != want {
			t.Errorf("%s is %v, want %v", key, got.Items[0][key], want)
		}
	}
	b.Reset()
	if err := write(&b, output.JSONL, entries(t), nil, false, now); err != nil || strings.Count(b.String(), "\n") != 4 || !strings.HasPrefix(b.String(), `{"namespace":"other","run":"release"`) {
		t.Errorf("lines are %s, %v", &b, err)
	}
	b.Reset()
	if err := write(&b, output.JSON, nil, nil, false, now); err != nil || !strings.Contains(b.String(), `"items": []`) || !strings.Contains(b.String(), `"skills": []`) {
		t.Errorf("nothing is %s, %v", &b, err)
	}
}
