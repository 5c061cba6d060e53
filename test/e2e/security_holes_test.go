// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// counts is a Pod that takes connections, and says each word that it gets over one.
const counts = `
import socket, threading
def read(c):
    while True:
        try: b = c.recv(100)
        except OSError: break
        if not b: break
        print("heard", b.decode(), flush=True)
t = socket.create_server(("0.0.0.0", 9000))
while True: threading.Thread(target=read, args=(t.accept()[0],), daemon=True).start()
`

// tells sends a word ten times a second over one connection, for which it tries until it gets it, and makes no other one.
const tells = `
import socket, sys, time
s = None
while s is None:
    try: s = socket.create_connection((sys.argv[1], 9000), 0.3)
    except OSError: time.sleep(0.05)
s.settimeout(None)
while True:
    s.sendall((sys.argv[2] + "\n").encode()); time.sleep(0.1)
`

// A program that got a connection through a moment without walls has it no longer when the run goes on, whether it ran in the
// background of a run that waits, or in a call.
func TestSecurityAHoleEndsWhatWentThroughIt(t *testing.T) {
	sink := startPod(t, newNamespace(t, "sink"), "sink", counts)
	ns := newNamespace(t, "hole")
	must(t, createCortex(t.Context(), ns, v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)}))
	begin := func(script, file, word string) *v1alpha1.MotorRun {
		program := fmt.Sprintf("cat > tells.py <<'END'\n%sEND\ntouch started\nexec python3 tells.py %s %s\n", tells, sink.Status.PodIP, word)
		return startRun(t, script, inNamespace(ns), withScript(file, program), withScript("after.sh", "sleep 3; echo after"))
	}
	waits, works := begin("hole", "hole.sh", "background"), begin("case-ask", "case.sh", "foreground")
	awaitCommand(t, works)
	awaitCommand(t, awaitQuestion(t, waits))

	bringBack := removeAllManagers(t)
	baseline := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "motorcortex-sandbox-baseline"}}
	must(t, suite.client.Delete(t.Context(), baseline))
	wantHeard(t, sink, "background", "foreground")
	bringBack()

	heard := map[string]int{}
	for word, run := range map[string]*v1alpha1.MotorRun{"background": waits, "foreground": works} {
		asked := awaitRun(t, run, 2*soon, "a question after the loss of a wall", func(r *v1alpha1.MotorRun) bool {
			return r.Status.Pending() != nil && r.Status.Sandbox.IsolationLossTime != nil
		})
		respond(t, asked, asked.Status.Pending().ID, "yes")
		awaitRun(t, run, 2*soon, "isolation proved again", func(r *v1alpha1.MotorRun) bool {
			return condition(r, v1alpha1.ConditionIsolationVerified).Status == metav1.ConditionTrue
		})
		heard[word] = strings.Count(logOf(t, sink), word)
		done := wantCompleted(t, run, 2*soon)
		if all := said(t, done); !strings.HasPrefix(all[len(all)-1], "after") {
			t.Errorf("the calls of %s said %q", word, all)
		}
	}
	for word, before := range heard {
		if now := strings.Count(logOf(t, sink), word); now != before {
			t.Errorf("%d words of the %s came out after the isolation was proved again", now-before, word)
		}
	}
	wantNothingElseLeft(t)
}

// wantHeard waits until a Pod has heard each of the words.
func wantHeard(t *testing.T, pod *corev1.Pod, words ...string) {
	t.Helper()
	must(t, wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, soon, true, func(context.Context) (bool, error) {
		log := logOf(t, pod) //nolint:contextcheck // It ends with the test.
		for _, w := range words {
			if !strings.Contains(log, w) {
				return false, nil
			}
		}
		return true, nil
	}))
}

func logOf(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	return kubectl(t, "-n", pod.Namespace, "logs", pod.Name)
}
