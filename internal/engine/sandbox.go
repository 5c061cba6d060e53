// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// sandboxTools is the run's sandbox as the loop sees it.
type sandboxTools struct {
	engine  *Engine
	loop    *loop
	run     *v1alpha1.MotorRun
	entries *journal.Log
	client  *toolclient.Client
	log     *slog.Logger
	// prepared is closed when the sandbox is ready.
	prepared chan struct{}
	// restarted says that the tool server has ended since the sandbox was ready.
	restarted bool
}

func (s *sandboxTools) close() { s.client.Close() }

// Call runs one tool call, or gives its stored result.
func (s *sandboxTools) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	if s.restarted {
		// The tool server can be back before anybody has seen that it was gone.
		if err := s.proveAgain(ctx); err != nil {
			return toolapi.Result{}, err
		}
		s.restarted = false
	}
	r, err := s.client.Call(ctx, c)
	s.restarted = err == nil && r.ErrorCode == toolapi.CodeOutcomeUnknown
	return r, s.classify(ctx, err)
}

// proveAgain does for a tool server that was started again what ready does, but for the files, which are there.
func (s *sandboxTools) proveAgain(ctx context.Context) error {
	hello, err := s.client.Hello(ctx)
	if err != nil {
		return s.classify(ctx, err)
	}
	if hello.Used {
		return nil
	}
	_, err = s.proveIsolation(ctx)
	return err
}

// fresh says whether no step was taken in the sandbox yet.
func (s *sandboxTools) fresh() bool { return s.entries.Sandbox().PodUID != s.run.Status.Sandbox.PodUID }

// ready prepares the sandbox while the model thinks: it makes sure that the tool server is the one of this run's Pod,
// that the sandbox can reach nothing, and that the files of the spec are there. It names the sandbox to the journal,
// so that the first step records which one it was and which key it showed.
func (s *sandboxTools) ready(ctx context.Context) error {
	start := s.engine.Now()
	// From here on the sandbox refuses whoever held the run before. So nothing can happen in it any more behind the back of
	// the loop, which looks next at what its calls have come to.
	hello, err := s.client.Hello(ctx)
	if err != nil {
		return s.classify(ctx, err)
	}
	box, fresh := s.entries.Sandbox(), s.fresh()
	if fresh {
		box = v1alpha1.StepSandbox{}
	}
	box.PodUID, box.ServerKey = s.run.Status.Sandbox.PodUID, s.client.ServerKey()
	if fresh || !hello.Used {
		// A tool server that was restarted can be in a new network, which its node has to close first.
		proof, err := s.proveIsolation(ctx)
		if err != nil {
			return err
		}
		box.IsolationTries, box.IsolationMs = proof.tries, proof.after.Milliseconds()
	}
	if fresh {
		if err := s.putFiles(ctx); err != nil {
			return err
		}
	}
	s.entries.UseSandbox(box)
	close(s.prepared)
	s.log.Info("the sandbox is ready", "took", s.engine.Now().Sub(start).String(), "fresh", fresh)
	return nil
}

const (
	// confirmations is how many times in a row every forbidden address must be blocked.
	confirmations = 3
	// probeTimeout bounds each try. An address that answers does so within a few milliseconds.
	probeTimeout = 100 * time.Millisecond
	// probePause lies between two tries. Where packets are refused and not dropped, three tries in a row would be over
	// within a few milliseconds, and a wall that is still being built can look closed for that long.
	probePause = 50 * time.Millisecond
)

type proof struct {
	tries int32
	after time.Duration
}

// proveIsolation waits until the sandbox reaches none of the forbidden addresses, several times in a row. A CNI closes
// a new Pod only some time after it runs; until then nothing hostile may be in it.
func (s *sandboxTools) proveIsolation(ctx context.Context) (proof, error) {
	start := s.engine.Now()
	targets := forbidden(s.engine.Config.Forbidden, s.run.Status.Sandbox.NodeIP)
	request := toolapi.ProbeRequest{Targets: targets, TimeoutMs: int32(probeTimeout.Milliseconds())}
	p := proof{}
	for {
		round := s.engine.Now()
		resp, err := s.client.Probe(ctx, request)
		if err != nil {
			return p, s.classify(ctx, err)
		}
		open := reached(resp)
		switch {
		case len(open) > 0 && round.Sub(start) > s.engine.Config.IsolationTimeout:
			return p, unverified(open, s.engine.Config.IsolationTimeout)
		case len(open) > 0:
			p = proof{}
		case p.tries == 0:
			p = proof{tries: 1, after: round.Sub(start)}
		default:
			p.tries++
		}
		if p.tries >= confirmations {
			return p, nil
		}
		select {
		case <-time.After(probePause):
		case <-ctx.Done():
			return p, ctx.Err()
		}
	}
}

// kubeletPort is where every kubelet listens.
const kubeletPort = "10250"

func forbidden(common []toolapi.ProbeTarget, nodeIP string) []toolapi.ProbeTarget {
	targets := append([]toolapi.ProbeTarget(nil), common...)
	if nodeIP != "" {
		targets = append(targets, toolapi.ProbeTarget{
			Name: "the node's kubelet", Network: "tcp", Address: net.JoinHostPort(nodeIP, kubeletPort),
		})
	}
	return targets
}

func reached(resp toolapi.ProbeResponse) []string {
	var open []string
	for _, r := range resp.Results {
		if r.Reached {
			open = append(open, r.Name)
		}
	}
	return open
}

func unverified(open []string, after time.Duration) error {
	return &motorloop.Failure{
		Category: motorloop.InfraFailure,
		Reason:   motorloop.ReasonIsolationUnverified,
		Message: fmt.Sprintf("After %s the sandbox still reached %s, so nothing was run in it. "+
			"The cluster's network plugin must enforce NetworkPolicy, for egress too.", after, strings.Join(open, ", ")),
	}
}

// putFiles puts the files of the spec into the workspace. It reads the run itself: the cached one has no contents.
func (s *sandboxTools) putFiles(ctx context.Context) error {
	if len(s.run.Spec.Files) == 0 {
		return nil
	}
	var run v1alpha1.MotorRun
	if err := s.engine.Live.Get(ctx, client.ObjectKeyFromObject(s.run), &run); err != nil {
		return fmt.Errorf("read the run's files: %w", err)
	}
	if run.UID != s.run.UID {
		return errors.New("read the run's files: another run has its name by now")
	}
	for i := range run.Spec.Files {
		f := &run.Spec.Files[i]
		content, err := s.content(ctx, f)
		missing := apierrors.IsNotFound(err) || errors.Is(err, errNoKey)
		if missing && s.loop.mayComeBack(s.engine.Now()) {
			return fmt.Errorf("read the run's files: %w: %w", errMissing, err)
		}
		if missing {
			return inputFailure(i, f.Path, err.Error())
		}
		if err != nil {
			return err
		}
		if _, err := s.client.PutFile(ctx, f.Path, content); err != nil {
			remote, ok := errors.AsType[*toolclient.RemoteError](err)
			if !ok || errors.Is(err, toolclient.ErrStaleEpoch) || ctx.Err() != nil {
				return s.classify(ctx, err)
			}
			return inputFailure(i, f.Path, remote.Message)
		}
	}
	return nil
}

func inputFailure(i int, path, reason string) error {
	return &motorloop.Failure{
		Category: motorloop.InvalidTask,
		Reason:   motorloop.ReasonInputFile,
		Message:  fmt.Sprintf("spec.files[%d]: %s could not be put into the workspace: %s", i, path, reason),
	}
}

// errNoKey says that a ConfigMap has lost the key that was there when the run was accepted.
var errNoKey = errors.New("it has no such key any more")

func (s *sandboxTools) content(ctx context.Context, f *v1alpha1.InputFile) ([]byte, error) {
	if f.Content != nil {
		return []byte(*f.Content), nil
	}
	ref := f.ConfigMapKeyRef
	var cm corev1.ConfigMap
	if err := s.engine.Live.Get(ctx, types.NamespacedName{Namespace: s.run.Namespace, Name: ref.Name}, &cm); err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", ref.Name, err)
	}
	if text, ok := cm.Data[ref.Key]; ok {
		return []byte(text), nil
	}
	if b, ok := cm.BinaryData[ref.Key]; ok {
		return b, nil
	}
	return nil, fmt.Errorf("ConfigMap %s, key %s: %w", ref.Name, ref.Key, errNoKey)
}
