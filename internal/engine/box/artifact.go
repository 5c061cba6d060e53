// SPDX-License-Identifier: Apache-2.0

package box

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// bucketWait is how long the bucket may send nothing of a file; it may stall in the middle. The time that the sandbox takes for
// the bytes that were read does not count.
const bucketWait = time.Minute

var (
	// errNoArtifact reports that an artifact is no longer available that was available when the run was accepted.
	errNoArtifact = errors.New("the artifact cannot be had")
	// errInputsTooLarge reports that a file exceeds the run's limit for inputs from the bucket.
	errInputsTooLarge = fmt.Errorf("the artifacts from the bucket that a run is given may have %d MiB together", fit.MaxBucketBytes>>20)
	// errBucketStalls reports that the bucket is too slow, or not available. It proves nothing about the artifact.
	errBucketStalls = fmt.Errorf("nothing came for %s", bucketWait)
)

// artifact returns the entry of an earlier run's artifact, if it is the one that the reference means.
func artifact(ctx context.Context, env *runenv.Env, ref *v1alpha1.ArtifactRef) (*v1alpha1.Artifact, error) {
	if err := checkName("MotorRun", ref.RunName); err != nil {
		return nil, err
	}
	var from v1alpha1.MotorRun
	if err := env.Live.Get(ctx, types.NamespacedName{Namespace: env.Run.Namespace, Name: ref.RunName}, &from); err != nil {
		return nil, fmt.Errorf("get MotorRun %s: %w", ref.RunName, err)
	}
	a, problem := fit.ArtifactInput(&from, ref.Path, env.Bucket != nil)
	if problem != "" {
		return nil, fmt.Errorf("%w: %s", errNoArtifact, problem)
	}
	if err := checkDigest(ref.Digest, a.SHA256); err != nil {
		return nil, fmt.Errorf("MotorRun %s, artifact %q: %w", ref.RunName, ref.Path, err)
	}
	return a, nil
}

// putArtifact puts an artifact of an earlier run into the workspace, with its provenance.
func (p *inputPutter) putArtifact(ctx context.Context, path string, ref *v1alpha1.ArtifactRef) error {
	a, err := artifact(ctx, p.env, ref)
	if err != nil {
		return err
	}
	return p.putEntry(ctx, path, ref, a)
}

// putEntry is putArtifact for an artifact whose entry was read.
func (p *inputPutter) putEntry(ctx context.Context, path string, ref *v1alpha1.ArtifactRef, a *v1alpha1.Artifact) error {
	from := cmp.Or(toolapi.Provenance(a.Provenance), toolapi.ProvenanceWeb)
	if a.ConfigMapName == "" {
		return p.putFromBucket(ctx, path, ref, a, from)
	}
	content, err := configMapKey(ctx, p.env, a.ConfigMapName, runenv.ContentKey)
	if err != nil {
		return err
	}
	if toolapi.SHA256(content) != a.SHA256 {
		// Anyone who may write ConfigMaps can replace it.
		return notAsLeft(ref)
	}
	return p.put(ctx, path, content, from)
}

// putFromBucket streams an artifact from the bucket: only a part of it is in memory at a time.
func (p *inputPutter) putFromBucket(ctx context.Context, path string, ref *v1alpha1.ArtifactRef, a *v1alpha1.Artifact, from toolapi.Provenance) error {
	if p.left -= a.Size; p.left < 0 {
		return errInputsTooLarge
	}
	r, err := openObject(ctx, p.env.Bucket, a.ObjectKey)
	if err != nil {
		return bucketProblem(err)
	}
	defer func() { _ = r.Close() }() // The bytes that were read were checked.
	left := &asLeft{r: r, ref: ref, artifact: a, sum: sha256.New()}
	_, err = p.client.PutFileParts(ctx, path, left, a.Size, a.SHA256, from)
	if left.err != nil {
		return left.err
	}
	return p.putError(ctx, err)
}

// bucketProblem distinguishes a missing artifact, which may come back for a while, from trouble with the bucket.
func bucketProblem(err error) error {
	if errors.Is(err, archive.ErrNotFound) {
		return fmt.Errorf("%w: %w", errNoArtifact, err)
	}
	return fmt.Errorf("read the artifact from the bucket: %w", err)
}

// object is a file in the bucket that is being read.
type object struct {
	r io.ReadCloser
	// await calls a step that waits for the bucket, and ends the reading if that takes longer than bucketWait.
	await func(step func() error) error
	end   context.CancelCauseFunc
}

// openObject opens a file in the bucket. It fails with errBucketStalls, then or while it is read, if nothing comes.
func openObject(ctx context.Context, bucket runenv.Bucket, key string) (*object, error) {
	ctx, end := context.WithCancelCause(ctx)
	o := &object{end: end, await: func(step func() error) error {
		over := time.AfterFunc(bucketWait, func() { end(errBucketStalls) })
		defer over.Stop()
		err := step()
		if err != nil && !errors.Is(err, io.EOF) && errors.Is(context.Cause(ctx), errBucketStalls) {
			return errBucketStalls
		}
		return err
	}}
	err := o.await(func() (err error) {
		o.r, err = bucket.Read(ctx, key)
		return err
	})
	if err != nil {
		end(nil)
		return nil, err
	}
	return o, nil
}

// Read implements io.Reader.
func (o *object) Read(p []byte) (n int, err error) {
	err = o.await(func() (err error) {
		n, err = o.r.Read(p)
		return err
	})
	return n, err
}

// Close implements io.Closer.
func (o *object) Close() error {
	defer o.end(nil)
	return o.r.Close()
}

// asLeft reads an artifact from the bucket. It returns io.EOF only if the bytes that it read are those that the run stored.
type asLeft struct {
	r        io.Reader
	ref      *v1alpha1.ArtifactRef
	artifact *v1alpha1.Artifact
	sum      hash.Hash
	size     int64
	// err is the reason for which the artifact is unusable.
	err error
}

// Read implements io.Reader.
func (l *asLeft) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.sum.Write(p[:n])
	l.size += int64(n)
	switch {
	case l.size > l.artifact.Size, errors.Is(err, io.EOF) && hex.EncodeToString(l.sum.Sum(nil)) != l.artifact.SHA256:
		l.err = notAsLeft(l.ref)
	case err != nil && !errors.Is(err, io.EOF):
		l.err = bucketProblem(err)
	default:
		return n, err
	}
	return n, l.err
}

func notAsLeft(ref *v1alpha1.ArtifactRef) error {
	return fmt.Errorf("%w: what is kept of %s is not what MotorRun %s left behind", errNoArtifact, ref.Path, ref.RunName)
}
