// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/secretscan"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// drippingSandbox is a tool server with two artifacts. Of the second one, and if it is to, of the list, it gives a byte now and then,
// and never comes to an end.
type drippingSandbox struct {
	files, list atomic.Bool
	// dripped counts the answers that dripped.
	dripped atomic.Int32
}

const slowFile = "artifacts/slow"

func (s *drippingSandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, drips := any(toolapi.Hello{PodUID: "pod"}), false
	switch name, isFile := strings.CutPrefix(r.URL.Path, toolapi.PathArtifacts+"/"); {
	case isFile:
		answer, drips = toolapi.Chunk{Content: []byte(name), Size: int64(len(name))}, name == slowFile && s.files.Load()
	case r.URL.Path == toolapi.PathArtifacts:
		answer, drips = toolapi.Artifacts{Files: []toolapi.ArtifactFile{{Path: "artifacts/quick", Size: 15}, {Path: slowFile, Size: 14}}}, s.list.Load()
	}
	if !drips {
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	s.dripped.Add(1)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_, _ = w.Write([]byte(" ")) // Nothing of JSON is wrong so far.
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// artifactsOf gives what collects the artifacts of a run in that sandbox, and a reader of its only step.
func (s *drippingSandbox) artifactsOf(t *testing.T) (a *artifacts, step func() *v1alpha1.MotorStep) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := toolclient.GenerateKey()
	check(err)
	cert, err := toolclient.ClientCertificate(key)
	check(err)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAnyClientCert})
	check(err)
	srv := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close() })

	run := readyRun()
	run.UID = "run-uid"
	first := &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: run.Namespace, Name: journal.StepName(run.Name, 0, 1), Labels: map[string]string{v1alpha1.LabelRun: run.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))},
		},
		Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Index: 1, Epoch: 1, Sandbox: &v1alpha1.StepSandbox{PodUID: "pod"}},
	}
	scheme := runtime.NewScheme()
	check(corev1.AddToScheme(scheme))
	check(v1alpha1.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(first).WithStatusSubresource(first).Build()
	e := &Engine{Client: c, Live: c, Now: func() time.Time { return noon }, Logger: slog.New(slog.DiscardHandler), heldUntil: noon.Add(time.Hour)}
	entries, err := journal.Load(t.Context(), c, c, run, 0, journal.Claim{Epoch: 1, Worker: "worker-1"}, e.Now)
	check(err)
	tools, err := toolclient.New(toolclient.Config{Address: ln.Addr().String(), PodUID: "pod", ClientCert: cert, Epoch: 1})
	check(err)
	t.Cleanup(tools.Close)
	known, _ := testSecrets()
	box := &sandboxTools{engine: e, loop: &loop{}, run: run, entries: entries, client: tools, log: e.Logger, prepared: make(chan struct{})}
	return &artifacts{box: box, known: known, waitedFor: 2 * time.Second}, func() *v1alpha1.MotorStep {
		t.Helper()
		var found v1alpha1.MotorStep
		check(c.Get(t.Context(), client.ObjectKeyFromObject(first), &found))
		return &found
	}
}

// listed is what a list says, path=where it is or path!reason: message.
func listed(list *v1alpha1.ArtifactList) string {
	if list == nil {
		return "nothing"
	}
	var all []string
	for _, f := range list.Files {
		if f.Skipped != "" {
			all = append(all, fmt.Sprintf("%s!%s: %s", f.Path, f.Skipped, f.Message))
		} else {
			all = append(all, fmt.Sprintf("%s=%t", f.Path, f.ConfigMap != ""))
		}
	}
	return strings.Join(all, ", ")
}

// While somebody waits, a file that does not come to an end is given up soon. At the end there is more time for it.
func TestSlowSandboxKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	secretscan.Scan("", nil) // The first scan makes the rules, which takes a while.
	sandbox := &drippingSandbox{}
	a, step := sandbox.artifactsOf(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	sandbox.list.Store(true)
	if err := a.atPause(ctx); err != nil || sandbox.dripped.Load() == 0 {
		t.Fatalf("the list drips: %v, %d times", err, sandbox.dripped.Load())
	}
	if got := listed(step().Status.Artifacts); got != "nothing" {
		t.Errorf("without a list there is %s", got)
	}

	sandbox.list.Store(false)
	sandbox.files.Store(true)
	if err := a.atPause(ctx); err != nil {
		t.Fatal(err)
	}
	if got, want := listed(step().Status.Artifacts), "artifacts/quick=true, "+slowFile+"!Unreadable: it could not be read and kept in time"; got != want {
		t.Errorf("at the pause there is %s, want %s", got, want)
	}

	saved := toolapi.Result{OK: true, Output: "saved"}
	for _, file := range []string{"artifacts/quick", slowFile} {
		if got, err := a.check(ctx, json.RawMessage(`{"path":"`+file+`"}`), saved); err != nil || got != saved {
			t.Errorf("saving %s gives %+v, %v", file, got, err)
		}
	}
	if n := sandbox.dripped.Load(); n != 3 {
		t.Errorf("%d answers dripped", n)
	}

	sandbox.files.Store(false)
	if err := a.beforeEnd(ctx); err != nil {
		t.Fatal(err)
	}
	if got, want := listed(a.collected), "artifacts/quick=true, "+slowFile+"=true"; got != want {
		t.Errorf("at the end there is %s, want %s", got, want)
	}
}
