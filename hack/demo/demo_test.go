// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// cluster answers the demo's requests and sends its patches on. The steps are those that a list gives.
func cluster(t *testing.T, patches chan<- string, steps ...v1alpha1.MotorStep) client.WithWatch {
	t.Helper()
	b := fake.NewClientBuilder().WithScheme(testScheme(t))
	for i := range steps {
		b.WithObjects(&steps[i])
	}
	return b.WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, p client.Patch, _ ...client.PatchOption) error {
			data, err := p.Data(o)
			patches <- string(p.Type()) + " " + o.GetName() + " " + string(data)
			return err
		},
	}).Build()
}

func checkAnswer(t *testing.T, patches <-chan string, id, answer string) {
	t.Helper()
	want := fmt.Sprintf(`application/json-patch+json portfolio [{"op":"add","path":"/spec/responses/-","value":{"id":%q,"answer":%q}}]`, id, answer)
	select {
	case got := <-patches:
		if got != want {
			t.Errorf("patch %s, want %s", got, want)
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("no patch came, want %s", want)
	}
}

func play(views ...view) <-chan view {
	c := make(chan view, len(views))
	for _, v := range views {
		c <- v
	}
	return c
}

func finished(phase v1alpha1.RunPhase, summary string, conditions ...string) *v1alpha1.MotorRun {
	run := runWith(append(conditions, "Finished=True")...)
	run.Status.Phase, run.Status.Result = phase, &v1alpha1.RunResult{Summary: summary}
	return run
}

var (
	reads = step(1, call{"read", `{"path":"portfolio.csv"}`, ok("")}, call{"read", `{"path":"strategy.md"}`, ok("")})
	asks  = step(2, call{"ask_user", `{"question":"?"}`, nil})
	last  = step(3, call{"write", `{"path":"artifacts/report.md","content":"# Report\n\n| A | \u001b[31mB |\n"}`, ok("")})
)

func TestHappyPath(t *testing.T) {
	var out bytes.Buffer
	patches := make(chan string, 10)
	d := testDemo(&out)
	d.c = cluster(t, patches, reads, asks)
	sandboxed := runWith("SandboxReady=True")
	sandboxed.Status.Sandbox = &v1alpha1.SandboxStatus{PodName: "portfolio-motor-sandbox"}
	views := make(chan view)
	done := make(chan error)
	go func() { done <- d.follow(t.Context(), views) }()
	views <- view{run: sandboxed}
	// The steps before the question, and the last one, come by a list: their watch is slow.
	views <- view{run: asking(runWith(), "q1")}
	checkAnswer(t, patches, "q1", "skip it")
	views <- view{steps: []v1alpha1.MotorStep{reads, asks}}
	if err := d.c.Create(t.Context(), last.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	views <- view{run: finished(v1alpha1.PhaseCompleted, "1 position is below target.", "Succeeded=True")}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := d.conclude(t.Context()); err != nil {
		t.Fatal(err)
	}
	golden(t, "happy.golden.txt", out.Bytes())
}

func TestRetryIsAnsweredWithGuidance(t *testing.T) {
	var out bytes.Buffer
	patches := make(chan string, 1)
	d := testDemo(&out)
	d.c = cluster(t, patches)
	input := &v1alpha1.PendingInput{ID: "retry-1", Kind: v1alpha1.InputRetry, Attempt: new(int32(2))}
	if err := d.answer(t.Context(), input, "use port 8080"); err != nil {
		t.Fatal(err)
	}
	want := `application/json-patch+json portfolio [{"op":"add","path":"/spec/responses/-","value":{"id":"retry-1","decision":"Retry","guidance":"use port 8080"}}]`
	if got := <-patches; got != want {
		t.Errorf("patch %s, want %s", got, want)
	}
}

func TestFailedRun(t *testing.T) {
	var out bytes.Buffer
	d := testDemo(&out)
	d.c = cluster(t, nil, reads)
	err := d.follow(t.Context(), play(view{run: finished(v1alpha1.PhaseFailed, "The model refused the key.", "Succeeded=False")}))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.conclude(t.Context()); err == nil || err.Error() != "the run ended as Failed" {
		t.Errorf("error %v", err)
	}
	golden(t, "failed.golden.txt", out.Bytes())
}

func TestTerminal(t *testing.T) {
	var out bytes.Buffer
	patches := make(chan string)
	d := testDemo(&out)
	d.c = cluster(t, patches)
	typed := make(chan string)
	d.typed = typed
	views := make(chan view)
	done := make(chan error)
	go func() { done <- d.follow(t.Context(), views) }()
	views <- view{run: asking(runWith(), "q1")}
	typed <- "2"
	checkAnswer(t, patches, "q1", "stop")
	views <- view{run: asking(runWith(), "q2")}
	answered := runWith()
	answered.Spec.Responses = []v1alpha1.Response{{ID: "q2", Answer: "from another terminal"}}
	views <- view{run: answered}
	views <- view{run: asking(runWith(), "q3")}
	// Nothing more can be typed, so the default answers this question and all later ones.
	close(typed)
	checkAnswer(t, patches, "q3", "skip it")
	views <- view{run: asking(runWith(), "q4")}
	checkAnswer(t, patches, "q4", "skip it")
	views <- view{run: finished(v1alpha1.PhaseCompleted, "Stopped.", "Succeeded=True")}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	golden(t, "terminal.golden.txt", out.Bytes())
}

func TestFollowFails(t *testing.T) {
	tests := map[string]struct {
		views  []view
		giveUp bool
		want   error
	}{
		"deleted":  {views: []view{{run: runWith()}, {}}, want: errDeleted},
		"stalled":  {giveUp: true, want: errStalled},
		"deadline": {want: errTimeout},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := testDemo(&bytes.Buffer{})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			switch {
			case tt.giveUp:
				fired := make(chan time.Time, 1)
				fired <- time.Now()
				d.giveUp = fired
			case errors.Is(tt.want, errTimeout):
				cancel(errTimeout)
			}
			if err := d.follow(ctx, play(tt.views...)); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

func TestRemoveRun(t *testing.T) {
	var out bytes.Buffer
	d := testDemo(&out)
	old := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "portfolio"}}
	d.c = fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(old).Build()
	for range 2 {
		if err := d.removeRun(t.Context(), "portfolio"); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != "[ 0:00] removing the earlier run portfolio\n" {
		t.Errorf("output %q", out.String())
	}
}
