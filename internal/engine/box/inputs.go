// SPDX-License-Identifier: Apache-2.0

package box

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// putFiles puts the files of the spec into the workspace. It reads the run itself: the cached one has no contents.
func (s *Box) putFiles(ctx context.Context) error {
	if len(s.Env.Run.Spec.Files) == 0 {
		return nil
	}
	var run v1alpha1.MotorRun
	if err := s.Env.Live.Get(ctx, client.ObjectKeyFromObject(s.Env.Run), &run); err != nil {
		return fmt.Errorf("read the run's files: %w", err)
	}
	if run.UID != s.Env.Run.UID {
		return errors.New("read the run's files: another run has its name by now")
	}
	p := &inputPutter{env: s.Env, client: s.Client, left: fit.MaxBucketBytes}
	for i := range run.Spec.Files {
		f := &run.Spec.Files[i]
		if err := p.putFile(ctx, f); err != nil {
			return p.failed(ctx, fmt.Sprintf("spec.files[%d]", i), f.Path, err)
		}
	}
	return nil
}

// inputPutter puts the files of one run into its workspace.
type inputPutter struct {
	env    *runenv.Env
	client *toolclient.Client
	// left is how many bytes may still come from the bucket.
	left int64
}

// putFile puts one file into the workspace. A RemoteError is about the file; any other error of the sandbox is classified by
// Env.Classify.
func (p *inputPutter) putFile(ctx context.Context, f *v1alpha1.InputFile) error {
	switch {
	case f.Content != nil:
		return p.put(ctx, f.Path, []byte(*f.Content), toolapi.ProvenanceInternal)
	case f.ArtifactRef != nil:
		return p.putArtifact(ctx, f.Path, f.ArtifactRef)
	}
	content, err := meantContent(ctx, p.env, f.ConfigMapKeyRef)
	if err != nil {
		return err
	}
	return p.put(ctx, f.Path, content, toolapi.ProvenanceInternal)
}

func (p *inputPutter) put(ctx context.Context, path string, content []byte, from toolapi.Provenance) error {
	_, err := p.client.PutFileFrom(ctx, path, content, from)
	return p.putError(ctx, err)
}

// putError returns an error of the sandbox about a file unchanged.
func (p *inputPutter) putError(ctx context.Context, err error) error {
	if _, ok := toolclient.RemoteProblem(err); ok && ctx.Err() == nil {
		return err
	}
	return p.env.Classify(ctx, err)
}

// failed decides about a run whose file could not be put into the workspace.
func (p *inputPutter) failed(ctx context.Context, field, path string, err error) error {
	problem, err := p.problem(ctx, err)
	if problem == "" {
		return err
	}
	return inputFailure(field, path, problem)
}

// problem returns why a file cannot be put into the workspace for good. It returns the error if that proves nothing about the file, or if what is
// missing may come back.
func (p *inputPutter) problem(ctx context.Context, err error) (string, error) {
	remote, isRemote := errors.AsType[*toolclient.RemoteError](err)
	// A tool server that was restarted in the middle of a file has lost it, and gets it again from the beginning.
	cut := isRemote && remote.Code == toolapi.ErrPartMissing
	switch {
	case ctx.Err() != nil:
		return "", err
	case (cut || isMissing(err)) && p.env.MayComeBack():
		return "", fmt.Errorf("read the run's files: %w: %w", runenv.ErrMissing, err)
	case isRemote:
		return remote.Message, nil
	case isAboutFile(err):
		return err.Error(), nil
	}
	return "", err
}

// isMissing reports whether a file is not there, or not with the content that is meant. A backup that is read back can mend that.
func isMissing(err error) bool {
	return apierrors.IsNotFound(err) || errors.Is(err, errNoKey) || errors.Is(err, errNoArtifact) || errors.Is(err, errOtherContent) || errors.Is(err, errDigest)
}

// isAboutFile reports whether an error is a problem of one file, which waiting alone does not solve.
func isAboutFile(err error) bool {
	return isMissing(err) || errors.Is(err, errInputsTooLarge) || errors.Is(err, errNoFile) || errors.Is(err, errSecret) || errors.Is(err, errName)
}

func inputFailure(field, path, reason string) error {
	return &outcome.Failure{
		Category: outcome.InvalidTask,
		Reason:   outcome.ReasonInputFile,
		Message:  fmt.Sprintf("%s: %s could not be put into the workspace: %s", field, path, reason),
	}
}

var (
	// errNoKey reports that a ConfigMap has lost the key that was there when the run was accepted.
	errNoKey = errors.New("it has no such key any more")
	// errName reports a name that no object can have. The API server refuses it today, and did not always.
	errName = errors.New("no object can have that name")
	// errDigest reports that the content of a ConfigMap or an artifact was changed since a person or a program referred to it.
	errDigest = errors.New("it has another content than the one that was meant")
)

// checkName returns errName for a name that the client does not even ask the API server for. The client's own error says nothing about a file.
func checkName(kind, name string) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("%s %q: %w", kind, name, errName)
	}
	return nil
}

// checkDigest returns errDigest if a reference has a digest, and its content another one. sum is that of the content in hexadecimal digits.
func checkDigest(digest, sum string) error {
	if got := "sha256:" + sum; digest != "" && digest != got {
		return fmt.Errorf("%w: its digest is %s, and the reference says %s", errDigest, got, digest)
	}
	return nil
}

// meantContent returns the value of a key, if it is the one that the reference means.
func meantContent(ctx context.Context, env *runenv.Env, ref *v1alpha1.ConfigMapKeyRef) ([]byte, error) {
	content, err := configMapKey(ctx, env, ref.Name, ref.Key)
	if err != nil {
		return nil, err
	}
	if err := checkDigest(ref.Digest, toolapi.SHA256(content)); err != nil {
		return nil, fmt.Errorf("ConfigMap %s, key %s: %w", ref.Name, ref.Key, err)
	}
	return content, nil
}

func configMapKey(ctx context.Context, env *runenv.Env, name, key string) ([]byte, error) {
	if err := checkName("ConfigMap", name); err != nil {
		return nil, err
	}
	var cm corev1.ConfigMap
	if err := env.Live.Get(ctx, types.NamespacedName{Namespace: env.Run.Namespace, Name: name}, &cm); err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	if value, ok := runenv.ValueOf(&cm, key); ok {
		return value, nil
	}
	return nil, fmt.Errorf("ConfigMap %s, key %s: %w", name, key, errNoKey)
}
