// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/modelref"
	"motorcortex.dev/motorcortex/internal/motorloop"
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

// addresses of the loopback network, one per sandbox: the tool server's port is always the same.
var sandboxAddresses atomic.Int32

// engineRig is one run with a real tool server as its sandbox, and engines that carry it on.
type engineRig struct {
	t         *testing.T
	ctx       context.Context
	run       *v1alpha1.MotorRun
	workspace string
	ip        string
	podUID    string
	cert      engine.Config
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
	ctx := testContext(t)
	key, err := toolclient.GenerateKey()
	must(t, err)
	cert, err := toolclient.ClientCertificate(key)
	must(t, err)
	r := &engineRig{
		t: t, ctx: ctx, model: model, workspace: t.TempDir(),
		ip:     fmt.Sprintf("127.0.1.%d", sandboxAddresses.Add(1)),
		podUID: string(uuid.NewUUID()),
		cert:   engine.Config{ClientCert: cert},
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
	binary, err := toolserverBinary()
	must(r.t, err)
	cmd := exec.CommandContext(r.t.Context(), binary, "-listen", net.JoinHostPort(r.ip, strconv.Itoa(toolapi.Port)))
	cmd.Env = []string{
		"MOTOR_WORKSPACE=" + r.workspace, "MOTOR_STATE=" + r.t.TempDir(), "TMPDIR=" + r.t.TempDir(),
		"MOTOR_POD_UID=" + r.podUID, "MOTOR_MANAGER_KEY=" + pin, "PATH=" + os.Getenv("PATH"),
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	must(r.t, cmd.Start())
	r.t.Cleanup(func() {
		_ = cmd.Wait()
		if r.t.Failed() {
			r.t.Logf("the tool server said:\n%s", &log)
		}
	})
}

// giveTo plays the controller: it gives the run to a worker, with its sandbox ready.
func (r *engineRig) giveTo(worker string, epoch int64) {
	r.t.Helper()
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
		st.Worker, st.Epoch = worker, epoch
		st.Sandbox = &v1alpha1.SandboxStatus{PodName: "run-sandbox", PodUID: r.podUID, PodIP: r.ip}
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
	cfg := rest.CopyConfig(adminConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser, Groups: []string{"system:authenticated"}}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{r.run.Namespace: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	must(r.t, err)
	c := mgr.GetClient()
	if wrap != nil {
		c = wrap(c)
	}
	e := &engine.Engine{
		Client: c, Live: mgr.GetAPIReader(), Now: r.now, Logger: slog.New(slog.DiscardHandler),
		Models: modelref.Resolver{
			Cortex: manager, Secrets: countedReads{manager, &r.resolved}, Default: modelref.Endpoint{BaseURL: "http://model.example.org/v1", Model: "model-0"},
		},
		NewModel: func(modelref.Endpoint) (motorloop.Model, error) { return r.model, nil },
		Config: engine.Config{
			Worker: worker, ClientCert: r.cert.ClientCert, Forbidden: r.forbidden,
			IsolationTimeout: 300 * time.Millisecond, ConnectTimeout: 5 * time.Second,
		},
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

func journalEnded(steps []v1alpha1.MotorStep) bool {
	if len(steps) == 0 {
		return false
	}
	last := steps[len(steps)-1].Spec
	return last.Final || last.Type == v1alpha1.StepEnd
}

// stubModel gives the answer that follows as many answers as the conversation has.
type stubModel struct {
	answers []motorloop.Answer
	// hold, if set, keeps every request until it is closed or the request is given up.
	hold  chan struct{}
	asked atomic.Int32
	// panics is how many of the first requests panic.
	panics int32
}

func (m *stubModel) Complete(ctx context.Context, r motorloop.Request) (motorloop.Answer, error) {
	if m.asked.Add(1) <= m.panics {
		panic("the model's client is broken")
	}
	if m.hold != nil {
		select {
		case <-m.hold:
		case <-ctx.Done():
			return motorloop.Answer{}, ctx.Err()
		}
	}
	said := 0
	for _, msg := range r.Messages {
		if msg.Role == motorloop.RoleAssistant {
			said++
		}
	}
	if said >= len(m.answers) {
		return motorloop.Answer{}, fmt.Errorf("the conversation has %d answers already", said)
	}
	return m.answers[said], nil
}

func says(content string, calls ...motorloop.Call) motorloop.Answer {
	return motorloop.Answer{Model: "model-0", Content: content, Calls: calls}
}

func call(tool, arguments string) motorloop.Call {
	return motorloop.Call{ModelID: "call", Tool: tool, Arguments: arguments}
}
