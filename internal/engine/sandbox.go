// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

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
	// egress is the way out, nil if there is none.
	egress *egress
	// isolationLost says whether a policy of the sandbox was away since its isolation was last proved.
	isolationLost bool
	// prepared is closed when the sandbox is ready.
	prepared chan struct{}
	// used says that the tool server has started a call, restarted that it has ended since.
	used, restarted bool
}

func (s *sandboxTools) close() { s.client.Close() }

// Call runs one tool call, or gives its stored result.
func (s *sandboxTools) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	if s.restarted || s.egress.exists() {
		// The tool server can be back before anybody has seen that it was gone.
		if err := s.prepareAgain(ctx); err != nil {
			return toolapi.Result{}, err
		}
		s.restarted = false
	}
	c.Arguments = s.egress.resolve(c.Arguments)
	if len(c.Arguments) > toolapi.MaxArgumentsBytes {
		return toolapi.Result{
			ErrorCode: toolapi.CodeTooLarge, Provenance: toolapi.ProvenanceInternal,
			Output: fmt.Sprintf("with the credentials in them the arguments have more than %d bytes: split the work", toolapi.MaxArgumentsBytes),
		}, nil
	}
	s.used = true
	r, err := s.client.Call(ctx, c)
	if remote, ok := errors.AsType[*toolclient.RemoteError](err); ok && remote.Code == toolapi.ErrCallMismatch && s.egress != nil {
		return s.found(ctx, c.ID)
	}
	s.restarted = err == nil && r.ErrorCode == toolapi.CodeOutcomeUnknown
	return r, s.classify(ctx, err)
}

// found gives the result of a call that was made before with other arguments: a credential that the run exposes has
// another value by now.
func (s *sandboxTools) found(ctx context.Context, id string) (toolapi.Result, error) {
	state, err := s.client.State(ctx, id)
	switch {
	case err != nil:
		return toolapi.Result{}, s.classify(ctx, err)
	case state.Result == nil:
		return toolapi.Result{}, fmt.Errorf("the call %s still runs with a former value of a credential: %w", id, errMissing)
	}
	s.restarted = state.Result.ErrorCode == toolapi.CodeOutcomeUnknown
	return *state.Result, nil
}

// prepareAgain does for a tool server that was started again what ready does, but for the files, which are there. It knows
// such a one by what it has forgotten. Without the way out that it was told of, the next call would fail in a way that no
// model could explain.
func (s *sandboxTools) prepareAgain(ctx context.Context) error {
	hello, err := s.client.Hello(ctx)
	if err != nil {
		return s.classify(ctx, err)
	}
	if !hello.Used && s.used {
		p, err := s.proveIsolation(ctx)
		if err != nil {
			return err
		}
		box := s.entries.Sandbox()
		p.record(&box, s.run)
		s.entries.UseSandbox(box)
	}
	s.used = hello.Used
	if hello.Egress == s.egress.exists() {
		return nil
	}
	return s.setEgress(ctx, hello)
}

// fresh says whether no step was taken in the sandbox yet.
func (s *sandboxTools) fresh() bool { return s.entries.Sandbox().PodUID != s.run.Status.Sandbox.PodUID }

// ready prepares the sandbox while the model thinks: it makes sure that the tool server is the one of this run's Pod,
// that the sandbox can reach nothing, that the files of the spec are there, and that the way out is open, if there is one.
// It names the sandbox to the journal, so that the next step records which one it was and which key it showed.
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
	if fresh || !hello.Used || s.isolationLost {
		// A tool server that was restarted can be in a new network, which its node has to close first.
		proof, err := s.proveIsolation(ctx)
		if err != nil {
			return err
		}
		proof.record(&box, s.run)
	}
	if fresh {
		if err := s.putFiles(ctx); err != nil {
			return err
		}
	}
	if err := s.setEgress(ctx, hello); err != nil {
		return err
	}
	s.used = hello.Used
	s.entries.UseSandbox(box)
	close(s.prepared)
	s.log.Info("the sandbox is ready", "took", s.engine.Now().Sub(start).String(), "fresh", fresh)
	return nil
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
