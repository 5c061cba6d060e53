// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

// tokenConfig is a kubeconfig with a token of a ServiceAccount of the namespace, which may do these things.
func tokenConfig(ctx context.Context, t *testing.T, namespace, name string, r rights) string {
	t.Helper()
	must(t, admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}))
	person(ctx, t, namespace, "system:serviceaccount:"+namespace+":"+name, r)
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["c"] = &clientcmdapi.Cluster{Server: adminConfig.Host, CertificateAuthorityData: adminConfig.CAData}
	cfg.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: tokenOf(ctx, t, namespace, name)}
	cfg.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	cfg.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*cfg, path))
	return path
}

// conversation is a program that prints lines and reads answers.
type conversation struct {
	t     *testing.T
	lines *bufio.Reader
	in    io.Writer
	cmd   *exec.Cmd
}

// converse starts a program, whose errors go to stderr.
func converse(t *testing.T, cmd *exec.Cmd, stderr io.Writer) *conversation {
	t.Helper()
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = stderr
	must(t, cmd.Start())
	return &conversation{t: t, lines: bufio.NewReader(out), in: in, cmd: cmd}
}

// prints returns the next line, which must begin like that.
func (c *conversation) prints(prefix string) string {
	c.t.Helper()
	line, err := c.lines.ReadString('\n')
	rest, found := strings.CutPrefix(strings.TrimSpace(line), prefix)
	if err != nil || !found {
		c.t.Fatalf("it printed %q (%v), want %q", line, err, prefix)
	}
	return strings.TrimSpace(rest)
}

func (c *conversation) reads(line string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, line+"\n")
	must(c.t, err)
}

// exampleProgram is the example of a client, and how it shows texts.
type exampleProgram struct {
	command                 []string
	env                     []string
	question, call, summary string
}

// converses has the example answer a question, approve a call, and tell the end.
func (e exampleProgram) converses(t *testing.T) {
	t.Helper()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withQuestions, "true")
	cmd := exec.CommandContext(ctx, e.command[0], append(e.command[1:], ns, "paint the door")...)
	cmd.Env = append(append(os.Environ(), e.env...),
		"KUBECONFIG="+tokenConfig(ctx, t, ns, "agent", rights{"get,list,watch,create,patch,respond,approve motorruns", "get motorsteps"}))
	program := converse(t, cmd, os.Stderr)
	name := program.prints("started ")
	run := &v1alpha1.MotorRun{}
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, run))
	if run.Spec.Task != "paint the door" || run.Spec.Approval.Required != v1alpha1.ApprovalIrreversible || len(run.Spec.Tools) != 2 {
		t.Errorf("the run is %+v", run.Spec)
	}
	asking(ctx, t, run, 1, &v1alpha1.PendingInput{ID: "q1", Kind: v1alpha1.InputQuestion, Question: "Which colour?"})
	program.prints(e.question)
	program.reads("blue")
	responds := func(n int) v1alpha1.Response {
		t.Helper()
		must(t, wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
			return len(run.Spec.Responses) == n, admin.Get(ctx, client.ObjectKeyFromObject(run), run)
		}))
		must(t, admin.Get(ctx, client.ObjectKeyFromObject(run), run))
		return run.Spec.Responses[n-1]
	}
	if r := responds(1); r.Answer != "blue" || r.RespondedBy != "system:serviceaccount:"+ns+":agent" {
		t.Errorf("the response is %+v", r)
	}
	const arguments = `{"command":"git push <é>"}`
	digest := calls.ArgsDigest("bash", arguments)
	asking(ctx, t, run, 1, &v1alpha1.PendingInput{
		ID: "p1", Kind: v1alpha1.InputApproval, Question: "Approve?", Action: &v1alpha1.PendingAction{Tool: "bash", Arguments: arguments, ArgsDigest: digest},
	})
	program.prints("It wants to do this: " + e.call)
	program.prints("yes or no?")
	program.reads("yes")
	if r := responds(2); r.Decision != v1alpha1.DecisionApproveOnce || r.Digest != digest {
		t.Errorf("the response is %+v", r)
	}
	ends(ctx, t, ns, name)
	program.prints(e.summary)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// isRefused has the example run with an account that can start runs and can answer none. It must say which role is missing.
func (e exampleProgram) isRefused(t *testing.T) {
	t.Helper()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withQuestions, "true")
	cmd := exec.CommandContext(ctx, e.command[0], append(e.command[1:], ns, "paint the door")...)
	cmd.Env = append(append(os.Environ(), e.env...), "KUBECONFIG="+tokenConfig(ctx, t, ns, "starter", rights{"get,list,watch,create motorruns"}))
	var said strings.Builder
	program := converse(t, cmd, &said)
	run := &v1alpha1.MotorRun{}
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: program.prints("started ")}, run))
	asking(ctx, t, run, 1, &v1alpha1.PendingInput{ID: "q1", Kind: v1alpha1.InputQuestion, Question: "Which colour?"})
	program.prints(e.question)
	program.reads("blue")
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "Have the ClusterRole motorcortex-responder bound to this account in the namespace "+ns) {
		t.Errorf("the program ended with %v and said %s", err, said.String())
	}
}
