// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// toolserverBinary builds the tool server once.
var toolserverBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "toolserver")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "toolserver")
	out, err := exec.Command("go", "build", "-o", path, "motorcortex.dev/motorcortex/cmd/toolserver").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the tool server: %w\n%s", err, out)
	}
	return path, nil
})

// sandboxAddress returns an address of the loopback network on which nothing listens, another one per sandbox: the tool server's port
// is always the same. It is drawn from many, so that another run of these tests on the machine has others.
func sandboxAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		ip := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(250), rand.IntN(256), 1+rand.IntN(250))
		if ln, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(toolapi.Port))); err == nil {
			must(t, ln.Close())
			return ip
		}
	}
	t.Fatal("there is no free address for a sandbox")
	return ""
}

// engineRig is one run with a real tool server as its sandbox, and engines that carry it on.
type engineRig struct {
	t         *testing.T
	ctx       context.Context
	run       *v1alpha1.MotorRun
	workspace string
	ip        string
	podUID    string
	// pin is the manager's key as the tool server knows it, state and temp are folders of the tool server.
	pin, state, temp string
	// path is where programs of the sandbox are looked for first.
	path string
	// sandbox is the tool server that runs.
	sandbox   *exec.Cmd
	cert      box.Config
	model     *stubModel
	forbidden []toolapi.ProbeTarget
	// skipped is how far the engines' clock is ahead.
	skipped atomic.Int64
	// resolved counts how often an engine looked for the Secret of the model.
	resolved atomic.Int32
}

// now is the engines' clock.
func (r *engineRig) now() time.Time { return time.Now().Add(time.Duration(r.skipped.Load())) }

// countedReads counts what is read through it.
type countedReads struct {
	client.Reader
	count *atomic.Int32
}

func (c countedReads) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	c.count.Add(1)
	return c.Reader.Get(ctx, key, o, opts...)
}

func newEngineRig(t *testing.T, model *stubModel, change ...func(*v1alpha1.MotorRun)) *engineRig {
	t.Helper()
	t.Parallel()
	return newLoneEngineRig(t, model, change...)
}

// newLoneEngineRig is for tests whose programs have 5 s at most: a busy machine takes as long to start them.
func newLoneEngineRig(t *testing.T, model *stubModel, change ...func(*v1alpha1.MotorRun)) *engineRig {
	t.Helper()
	// Where nothing was built before, this takes minutes, which are not the test's.
	_, err := toolserverBinary()
	must(t, err)
	ctx := testContext(t)
	key, err := toolclient.GenerateKey()
	must(t, err)
	cert, err := toolclient.ClientCertificate(key)
	must(t, err)
	r := &engineRig{
		t: t, ctx: ctx, model: model, workspace: t.TempDir(),
		ip:     sandboxAddress(t),
		podUID: string(uuid.NewUUID()),
		cert:   box.Config{ClientCert: cert},
		// Nothing listens there.
		forbidden: []toolapi.ProbeTarget{{Name: "nobody", Network: "tcp", Address: "127.0.0.1:1"}},
	}
	r.startSandbox(toolclient.PublicKeyPin(key))
	r.run = createRun(ctx, t, newNamespace(ctx, t), change...)
	r.giveTo("worker-1", 1)
	return r
}

// startSandbox starts a tool server and ends it with the test.
func (r *engineRig) startSandbox(pin string) {
	r.t.Helper()
	r.pin, r.state, r.temp = pin, r.t.TempDir(), r.t.TempDir()
	r.restartSandbox()
}

// restartSandbox starts a tool server in the folders of the one before, as a kubelet does in the same Pod.
func (r *engineRig) restartSandbox() {
	r.t.Helper()
	binary, err := toolserverBinary()
	must(r.t, err)
	cmd := exec.CommandContext(r.t.Context(), binary, "-listen", net.JoinHostPort(r.ip, strconv.Itoa(toolapi.Port)))
	// The tables of this machine have the connections of every process on it.
	tables := r.t.TempDir()
	for _, name := range []string{"tcp", "udp"} {
		must(r.t, os.WriteFile(filepath.Join(tables, name), []byte("  sl  local_address rem_address   st\n"), 0o600))
	}
	cmd.Env = []string{
		"MOTOR_NET_TABLES=" + tables,
		"MOTOR_WORKSPACE=" + r.workspace, "MOTOR_STATE=" + r.state, "TMPDIR=" + r.temp,
		"MOTOR_POD_UID=" + r.podUID, "MOTOR_POD_IP=127.0.0.1", "MOTOR_MANAGER_KEY=" + r.pin, "PATH=" + r.path + ":" + os.Getenv("PATH"),
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	// The kernel ends it if this process is killed, with what its tools have started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	must(r.t, cmd.Start())
	r.sandbox = cmd
	r.t.Cleanup(func() {
		_ = cmd.Wait()
		if r.t.Failed() {
			r.t.Logf("the tool server said:\n%s", &log)
		}
	})
}

// killSandbox ends the tool server without a word, and what its tools have started goes on.
func (r *engineRig) killSandbox() {
	r.t.Helper()
	must(r.t, r.sandbox.Process.Kill())
	_ = r.sandbox.Wait()
}

// giveTo plays the controller: it gives the run to a worker, with its sandbox ready.
func (r *engineRig) giveTo(worker string, epoch int64) {
	r.t.Helper()
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
		st.Execution.Worker, st.Execution.Epoch = worker, epoch
		if len(st.Attempts) == 0 {
			st.Attempts = []v1alpha1.AttemptStatus{{Index: 1, Cause: v1alpha1.CauseFirst}}
		}
		st.Sandbox = &v1alpha1.SandboxStatus{PodName: "run-motor-sandbox", PodUID: r.podUID, PodIP: r.ip, CreationTime: &r.run.CreationTimestamp}
		st.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSandboxReady, LastTransitionTime: metav1.Now(),
		}}
	})
}

func (r *engineRig) changeStatus(change func(*v1alpha1.MotorRunStatus)) {
	r.t.Helper()
	must(r.t, admin.Get(r.ctx, client.ObjectKeyFromObject(r.run), r.run))
	before := r.run.DeepCopy()
	change(&r.run.Status)
	must(r.t, manager.Status().Patch(r.ctx, r.run, client.MergeFrom(before)))
}

// startEngine starts an engine as its own manager process would. The returned function stops it and waits for its end.
func (r *engineRig) startEngine(worker string, wrap func(client.Client) client.Client) (stop func()) {
	r.t.Helper()
	return r.startEngineWith(worker, func(e *engine.Engine) {
		if wrap != nil {
			e.Client = wrap(e.Client)
		}
	})
}

// startEngineWith is startEngine for an engine with something changed.
func (r *engineRig) startEngineWith(worker string, change func(*engine.Engine)) (stop func()) {
	r.t.Helper()
	cfg := rest.CopyConfig(adminConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser, Groups: []string{"system:authenticated"}}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{r.run.Namespace: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	must(r.t, err)
	leases, err := coordinationv1client.NewForConfig(cfg)
	must(r.t, err)
	e := &engine.Engine{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Leases: leases, Now: r.now, Logger: slog.New(slog.DiscardHandler),
		Models: cortex.Resolver{
			Cortex: manager, Secrets: countedReads{manager, &r.resolved}, Default: cortex.Endpoint{BaseURL: "http://model.example.org/v1", Model: "model-0", TextEnds: true},
		},
		NewModel: func(cortex.Endpoint) (chat.Model, error) { return r.model, nil },
		Config: engine.Config{
			// The Leases of all tests are in one namespace, in which the manager may have them.
			Worker: worker, LeaseNamespace: managerNamespace, PodName: worker + "-" + r.run.Namespace,
			Sandbox: box.Config{
				GrantNamespace: managerNamespace, ClientCert: r.cert.ClientCert, Forbidden: r.forbidden,
				IsolationTimeout: 300 * time.Millisecond, ConnectTimeout: 5 * time.Second,
			},
		},
	}
	if change != nil {
		change(e)
	}
	must(r.t, e.SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("the manager ended with %v", err)
		}
	})
	r.t.Cleanup(stop)
	return stop
}

// steps waits until the journal fulfils a condition, and gives it.
func (r *engineRig) steps(until func([]v1alpha1.MotorStep) bool) []v1alpha1.MotorStep {
	r.t.Helper()
	var own []v1alpha1.MotorStep
	defer func() {
		if r.t.Failed() {
			for _, s := range own {
				r.t.Logf("step %s: %q %+v %+v", s.Name, s.Spec.Content, s.Spec.Outcome, s.Status)
			}
		}
	}()
	err := wait.PollUntilContextCancel(r.ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var list v1alpha1.MotorStepList
		if err := admin.List(ctx, &list, client.InNamespace(r.run.Namespace)); err != nil {
			return false, err
		}
		own = journal.Of(r.run, list.Items)
		return until(own), nil
	})
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	return own
}

// ended waits until the attempt has ended, and gives its steps. With fewer of them than the test looks at, it ended early.
func (r *engineRig) ended(least int) []v1alpha1.MotorStep {
	r.t.Helper()
	steps := r.steps(journalEnded)
	if len(steps) < least {
		r.t.Fatalf("the attempt ended after %d steps, and not %d: %+v", len(steps), least, steps[len(steps)-1].Spec.Outcome)
	}
	return steps
}

// journalEnded reports whether the end is recorded, and what the run leaves behind.
func journalEnded(steps []v1alpha1.MotorStep) bool {
	if len(steps) == 0 {
		return false
	}
	last := steps[len(steps)-1]
	return (last.Spec.Final || last.Spec.Type == v1alpha1.StepEnd) && last.Status.Closed != nil
}

// stubModel gives the answer that follows as many answers as the conversation has.
type stubModel struct {
	answers []chat.Answer
	// retry are the answers of an attempt that was told of the ones before it.
	retry []chat.Answer
	// reply, if set, decides instead of both.
	reply func(chat.Request) chat.Answer
	// hold, if set, keeps every request until it is closed or the request is given up.
	hold chan struct{}
	// fail, if set, is asked first, with the number of the request for a next step, from 1.
	fail func(n int32) error
	// asked counts the requests for a next step, asides those for anything else.
	asked, asides atomic.Int32
	// window is how many tokens fit, 0 if that is not known.
	window int64
	// panics is how many of the first requests panic.
	panics int32

	mu sync.Mutex
	// prompt is the last system prompt, tools are the names of what was offered with it, and told is the last message.
	prompt, told string
	tools        []string
}

// Window is what the engine asks a model for.
func (m *stubModel) Window() int64 { return m.window }

func (m *stubModel) lastPrompt() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.prompt
}

func (m *stubModel) lastTold() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told
}

// wantTools checks what the model was offered last.
func (r *engineRig) wantTools(names ...string) {
	r.t.Helper()
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	if diff := cmp.Diff(names, r.model.tools); diff != "" {
		r.t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func (m *stubModel) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	if len(r.Tools) == 0 || strings.Contains(r.Messages[len(r.Messages)-1].Content, "Write the summary that takes the place") {
		m.asides.Add(1)
		return chat.Answer{Model: "model-0", Content: "in short", Usage: turn.Usage{PromptTokens: 10, CompletionTokens: 2}}, nil
	}
	if m.asked.Add(1) <= m.panics {
		panic("the model's client is broken")
	}
	if m.fail != nil {
		if err := m.fail(m.asked.Load()); err != nil {
			return chat.Answer{}, err
		}
	}
	m.mu.Lock()
	m.prompt, m.told, m.tools = r.Messages[0].Content, r.Messages[len(r.Messages)-1].Content, nil
	for _, d := range r.Tools {
		m.tools = append(m.tools, d.Name)
	}
	m.mu.Unlock()
	if m.hold != nil {
		select {
		case <-m.hold:
		case <-ctx.Done():
			return chat.Answer{}, ctx.Err()
		}
	}
	if m.reply != nil {
		return m.reply(r), nil
	}
	said := 0
	for _, msg := range r.Messages {
		if msg.Role == chat.RoleAssistant {
			said++
		}
	}
	answers := m.answers
	if strings.Contains(r.Messages[0].Content, "<recovery_context>") {
		answers = m.retry
	}
	if said >= len(answers) {
		return chat.Answer{}, fmt.Errorf("the conversation has %d answers already", said)
	}
	return answers[said], nil
}

func says(content string, calls ...turn.Call) chat.Answer {
	return chat.Answer{Model: "model-0", Content: content, Calls: calls}
}

func call(tool, arguments string) turn.Call {
	return turn.Call{ModelID: "call", Tool: tool, Arguments: arguments}
}
