// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

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
		content, from, err := s.content(ctx, f)
		missing := apierrors.IsNotFound(err) || errors.Is(err, errNoKey) || errors.Is(err, errNoArtifact)
		if missing && s.loop.mayComeBack(s.engine.Now()) {
			return fmt.Errorf("read the run's files: %w: %w", errMissing, err)
		}
		if missing {
			return inputFailure(i, f.Path, err.Error())
		}
		if err != nil {
			return err
		}
		if _, err := s.client.PutFileFrom(ctx, f.Path, content, from); err != nil {
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

// content gives what a file of the spec holds, and where that comes from.
func (s *sandboxTools) content(ctx context.Context, f *v1alpha1.InputFile) ([]byte, toolapi.Provenance, error) {
	switch {
	case f.Content != nil:
		return []byte(*f.Content), toolapi.ProvenanceInternal, nil
	case f.ArtifactRef != nil:
		return s.engine.artifact(ctx, s.run.Namespace, f.ArtifactRef)
	}
	content, err := s.engine.configMapKey(ctx, s.run.Namespace, f.ConfigMapKeyRef.Name, f.ConfigMapKeyRef.Key)
	return content, toolapi.ProvenanceInternal, err
}

func (e *Engine) configMapKey(ctx context.Context, namespace, name, key string) ([]byte, error) {
	var cm corev1.ConfigMap
	if err := e.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &cm); err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	if text, ok := cm.Data[key]; ok {
		return []byte(text), nil
	}
	if b, ok := cm.BinaryData[key]; ok {
		return b, nil
	}
	return nil, fmt.Errorf("ConfigMap %s, key %s: %w", name, key, errNoKey)
}

// errNoArtifact says that an artifact cannot be had that could be when the run was accepted.
var errNoArtifact = errors.New("the artifact cannot be had")

// artifact gives what an earlier run left behind, and where that comes from.
func (e *Engine) artifact(ctx context.Context, namespace string, ref *v1alpha1.ArtifactRef) ([]byte, toolapi.Provenance, error) {
	var from v1alpha1.MotorRun
	if err := e.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Run}, &from); err != nil {
		return nil, "", fmt.Errorf("get MotorRun %s: %w", ref.Run, err)
	}
	a, problem := runpolicy.ArtifactInput(&from, ref.Path, e.Artifacts != nil)
	if problem != "" {
		return nil, "", fmt.Errorf("%w: %s", errNoArtifact, problem)
	}
	content, err := e.keptContent(ctx, namespace, a)
	if err != nil {
		return nil, "", err
	}
	if digest(content) != a.SHA256 {
		// Who may write ConfigMaps can put another one in its place.
		return nil, "", fmt.Errorf("%w: what is kept of %s is not what MotorRun %s left behind", errNoArtifact, ref.Path, ref.Run)
	}
	return content, cmp.Or(toolapi.Provenance(a.Provenance), toolapi.ProvenanceWeb), nil
}

func (e *Engine) keptContent(ctx context.Context, namespace string, a *v1alpha1.Artifact) ([]byte, error) {
	if a.ConfigMap != "" {
		return e.configMapKey(ctx, namespace, a.ConfigMap, contentKey)
	}
	r, err := e.Artifacts.Read(ctx, a.Object)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoArtifact, err)
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, toolapi.MaxFileBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: read it from the bucket: %w", errNoArtifact, err)
	}
	return content, nil
}

// tainted says whether anything in the run may come from the web, as far as the engine knows: what it was given, and what the
// journal says of it.
func (e *Engine) tainted(ctx context.Context, run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) (bool, error) {
	if len(run.Spec.MCPServers) > 0 || hasWeb(steps) || !trustsSkill(run) {
		return true, nil
	}
	for i := range run.Spec.Files {
		ref := run.Spec.Files[i].ArtifactRef
		if ref == nil {
			continue
		}
		var from v1alpha1.MotorRun
		err := e.Client.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: ref.Run}, &from)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("get MotorRun %s: %w", ref.Run, err)
		}
		a, _ := runpolicy.ArtifactInput(&from, ref.Path, true)
		if a == nil || a.Provenance != string(toolapi.ProvenanceInternal) {
			// Nobody can tell any more of one that is gone.
			return true, nil
		}
	}
	return false, nil
}

func hasWeb(steps []v1alpha1.MotorStep) bool {
	return slices.ContainsFunc(steps, func(s v1alpha1.MotorStep) bool {
		return slices.ContainsFunc(s.Status.Results, func(r v1alpha1.ToolResult) bool { return r.Provenance == string(toolapi.ProvenanceWeb) })
	})
}
