// SPDX-License-Identifier: Apache-2.0

package harvest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

const (
	// maxObjectBytes is the size limit of a file in a ConfigMap, maxObjectsBytes that of all such files of a run together.
	maxObjectBytes  = 1 << 20
	maxObjectsBytes = 5 << 20
	// maxReads is how often a file is read that changes during the read.
	maxReads = 3
	// bucketFolder is the prefix of the keys of artifacts in the bucket. No key of an archive has it: those begin with the name of a namespace.
	// Only the bucket's own rules delete artifacts, and such a rule selects objects by their prefix.
	bucketFolder = "_artifacts/"
)

// errChanged reports that two reads of a file differed.
var errChanged = errors.New("the file changed while it was read")

// notStored is the reason for which a file is not stored.
type notStored struct{ reason string }

func (e *notStored) Error() string { return e.reason }

// room counts the stored files of a run.
type room struct {
	bucket         bool
	objects, blobs int64
	// listed is how many bytes the stored files take in the list of the run's result.
	listed int
	// web is true if every file may come from the web.
	web bool
}

func (a *Artifacts) newRoom() *room {
	egress := a.Env.Run.Status.Egress
	return &room{
		bucket: a.Env.Bucket != nil,
		web:    a.Tainted || calls.HasWeb(a.Env.Entries.Steps()) || egress != nil && len(egress.Domains) > 0,
	}
}

// limit returns the maximum size of any file.
func (r *room) limit() int64 {
	if r.bucket {
		return toolapi.MaxArtifactBytes
	}
	return maxObjectBytes
}

// most returns how many bytes the next file may have.
func (r *room) most() int64 {
	left := min(maxObjectBytes, maxObjectsBytes-r.objects)
	if r.bucket {
		left = max(left, fit.MaxBucketBytes-r.blobs)
	}
	return min(left, r.limit())
}

// inObject reports whether a file of that size goes into an object.
func (r *room) inObject(size int64) bool {
	return size <= maxObjectBytes && r.objects+size <= maxObjectsBytes
}

// inBucket reports whether it goes into the bucket, if it does not go into an object.
func (r *room) inBucket(size int64) bool {
	return r.bucket && size <= toolapi.MaxArtifactBytes && r.blobs+size <= fit.MaxBucketBytes
}

// tooLong returns the entry of a file that exceeds the remaining limit.
func (r *room) tooLong(art v1alpha1.Artifact) v1alpha1.Artifact {
	switch {
	case art.Size <= r.limit() && r.most() < r.limit():
		return skipped(art, v1alpha1.SkippedLimitReached, fmt.Sprintf(
			"the files of a run may have %d MiB in all, and %d MiB where the manager has a bucket", maxObjectsBytes>>20, fit.MaxBucketBytes>>20))
	case r.bucket:
		return skipped(art, v1alpha1.SkippedTooLarge, fmt.Sprintf("a file may have %d MiB", toolapi.MaxArtifactBytes>>20))
	}
	return skipped(art, v1alpha1.SkippedTooLarge, fmt.Sprintf("a file may have %d MiB, as the manager has no bucket", maxObjectBytes>>20))
}

// readAndStore reads a file and stores it.
func (a *Artifacts) readAndStore(ctx context.Context, art v1alpha1.Artifact, web bool, room *room) (v1alpha1.Artifact, error) {
	for range maxReads {
		r, err := a.read(ctx, art.Path, room.most())
		if err != nil {
			return art, err
		}
		stored := v1alpha1.Artifact{
			Path: art.Path, Size: r.size, MediaType: r.mediaType, SHA256: r.sha256, Provenance: string(toolapi.ProvenanceInternal),
		}
		if web || room.web {
			stored.Provenance = string(toolapi.ProvenanceWeb)
		}
		if err = a.store(ctx, &stored, r, room); !errors.Is(err, errChanged) {
			return stored, err
		}
	}
	return art, errChanged
}

// store stores the bytes that were read, unless they are stored already.
func (a *Artifacts) store(ctx context.Context, art *v1alpha1.Artifact, r *reading, room *room) (err error) {
	former, entry := a.former(art), *art
	inObject, inBucket := room.inObject(r.size), room.inBucket(r.size)
	if inObject {
		entry.ConfigMapName = artifactName(a.Env.Run, art)
	} else {
		entry.ObjectKey = bucketKey(a.Env.Run, art)
	}
	switch {
	case (inObject || inBucket) && !room.lists(&entry):
		*art = unlisted(*art)
		return nil
	case inObject:
		if art.ConfigMapName = former.ConfigMapName; art.ConfigMapName == "" {
			art.ConfigMapName, err = a.create(ctx, art, r)
		}
		room.objects += r.size
	case inBucket:
		if art.ObjectKey = former.ObjectKey; art.ObjectKey == "" {
			art.ObjectKey, err = a.upload(ctx, art)
		}
		room.blobs += r.size
	default:
		*art = room.tooLong(*art)
		return nil
	}
	if err == nil {
		room.listed += fit.ListedBytes(art)
	}
	return err
}

// lists reports whether the entry fits into the list of the run's result: no reader would find a file that no list names.
func (r *room) lists(entry *v1alpha1.Artifact) bool {
	return r.listed+fit.ListedBytes(entry) <= fit.MaxListedBytes
}

// unlisted returns the entry of a file that is not stored because the list of the result is full.
func unlisted(art v1alpha1.Artifact) v1alpha1.Artifact {
	return skipped(art, v1alpha1.SkippedLimitReached, fmt.Sprintf(
		"the list of a run's files has %d KiB, and no room for more: give them shorter names, or put several into one archive", fit.MaxListedBytes>>10))
}

// former returns the recorded entry of the file if the file has not changed, so that it was scanned and stored before.
func (a *Artifacts) former(art *v1alpha1.Artifact) v1alpha1.Artifact {
	if f := a.recordedAs(art.Path); f.SHA256 == art.SHA256 {
		return f
	}
	return v1alpha1.Artifact{}
}

// recordedAs returns the recorded entry of the file at that path, an empty one if it is in no list.
func (a *Artifacts) recordedAs(path string) v1alpha1.Artifact {
	if a.Recorded != nil {
		for _, f := range a.Recorded.Files {
			if f.Path == path {
				return f
			}
		}
	}
	return v1alpha1.Artifact{}
}

// create creates the ConfigMap of a file, unless the content contains a suspected secret.
func (a *Artifacts) create(ctx context.Context, art *v1alpha1.Artifact, r *reading) (name string, err error) {
	if err := a.secretIn(ctx, art.Path, r.content); err != nil {
		return "", err
	}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: artifactName(a.Env.Run, art), Namespace: a.Env.Run.Namespace,
			Labels: map[string]string{
				v1alpha1.LabelRun: a.Env.Run.Name, v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelComponent: v1alpha1.ComponentArtifact,
			},
			Annotations:     map[string]string{v1alpha1.AnnotationPath: art.Path},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(a.Env.Run, v1alpha1.GroupVersion.WithKind("MotorRun"))},
		},
		Immutable: new(true),
	}
	setContent(cm, r.content)
	err = a.tryStore(ctx, func() error { return a.createOnce(ctx, cm, art) })
	if err != nil {
		return "", err
	}
	a.stored = append(a.stored, cm.Name)
	return cm.Name, nil
}

func (a *Artifacts) createOnce(ctx context.Context, cm *corev1.ConfigMap, art *v1alpha1.Artifact) error {
	err := a.Env.Client.Create(ctx, cm.DeepCopy())
	switch {
	case err == nil, apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return err
	case apierrors.IsAlreadyExists(err):
		return a.adopt(ctx, cm.Name, art.SHA256)
	case runenv.RefusedForGood(err):
		return &notStored{fmt.Sprintf("the cluster does not take it: %v", err)}
	}
	return fmt.Errorf("keep the artifact %s: %w", art.Path, err)
}

const (
	// storeTries is how often a file is sent to a store that may accept the next try. storePause is the pause between the first two
	// tries; it doubles for each further one.
	storeTries = 3
	storePause = 500 * time.Millisecond
)

// tryStore stores a file, with retries. A store that continues to refuse costs only the file: an unavailable webhook
// must not stop a run from ending.
func (a *Artifacts) tryStore(ctx context.Context, store func() error) error {
	pause := storePause
	for n := 1; ; n++ {
		err := store()
		var refused *notStored
		if unread, ok := errors.AsType[*readFault](err); ok {
			return unread.error
		}
		if err == nil || errors.As(err, &refused) || ctx.Err() != nil || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return err
		}
		if n == storeTries {
			return &notStored{fmt.Sprintf("the store does not take it (%d tries): %v", n, err)}
		}
		select {
		case <-time.After(pause):
			pause *= 2
		case <-ctx.Done():
			return err
		}
	}
}

// artifactName returns the same for the same content at the same path.
func artifactName(run *v1alpha1.MotorRun, art *v1alpha1.Artifact) string {
	sum := sha256.Sum256([]byte(string(run.UID) + "\x00" + art.SHA256 + "\x00" + art.Path))
	return run.Name + "-artifact-" + hex.EncodeToString(sum[:10])
}

// adopt accepts an existing ConfigMap of that name if it holds the artifact: an earlier try succeeded and was not recorded.
func (a *Artifacts) adopt(ctx context.Context, name, sum string) error {
	var cm corev1.ConfigMap
	if err := a.Env.Live.Get(ctx, client.ObjectKey{Namespace: a.Env.Run.Namespace, Name: name}, &cm); err != nil {
		return fmt.Errorf("get the ConfigMap %s: %w", name, err)
	}
	content, _ := runenv.ValueOf(&cm, runenv.ContentKey)
	if !isArtifactOf(&cm, a.Env.Run) || toolapi.SHA256(content) != sum {
		return &notStored{fmt.Sprintf("there is another ConfigMap %s in the namespace", name)}
	}
	return nil
}

// setContent puts text into data, where kubectl shows it, and other content into binaryData. Text with control characters counts as other
// content: in JSON each of them has six bytes.
func setContent(cm *corev1.ConfigMap, content []byte) {
	isControl := func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' && c != '\r' }
	if utf8.Valid(content) && !bytes.ContainsFunc(content, isControl) {
		cm.Data = map[string]string{runenv.ContentKey: string(content)}
		return
	}
	cm.BinaryData = map[string][]byte{runenv.ContentKey: content}
}

func isArtifactOf(o metav1.Object, run *v1alpha1.MotorRun) bool {
	return metav1.IsControlledBy(o, run) && o.GetLabels()[v1alpha1.LabelComponent] == v1alpha1.ComponentArtifact
}

// upload reads a file again and streams it into the bucket. If anything is wrong with the file, no object is created.
func (a *Artifacts) upload(ctx context.Context, art *v1alpha1.Artifact) (key string, err error) {
	key = bucketKey(a.Env.Run, art)
	err = a.tryStore(ctx, func() error { return a.uploadOnce(ctx, key, art) })
	if err != nil {
		return "", err
	}
	return key, nil
}

func (a *Artifacts) uploadOnce(ctx context.Context, key string, art *v1alpha1.Artifact) error {
	var fault error
	err := a.Env.Bucket.WriteArtifact(ctx, key, func(w io.Writer) error {
		sum, out := sha256.New(), &lastError{w: w}
		watch := &redacting.Watch{Known: a.Env.Known, Rules: true, Name: art.Path}
		_, err := a.Client.ReadArtifact(ctx, art.Path, io.MultiWriter(watch, sum, out), art.Size)
		switch {
		case out.err != nil:
			return out.err
		case errors.Is(err, toolclient.ErrTooLong), err == nil && hex.EncodeToString(sum.Sum(nil)) != art.SHA256:
			err = errChanged
		}
		fault = err
		return err
	})
	switch {
	case fault != nil:
		return &readFault{a.readError(ctx, fault)}
	case errors.Is(err, archive.ErrExists):
		return nil
	}
	return err
}

// bucketKey returns the same for the same content.
func bucketKey(run *v1alpha1.MotorRun, art *v1alpha1.Artifact) string {
	return bucketFolder + run.Namespace + "/" + string(run.UID) + "/" + art.SHA256
}

// readFault is an error of the file, and not of the store.
type readFault struct{ error }

// Unwrap returns the error of the file.
func (f *readFault) Unwrap() error { return f.error }

// lastError remembers the error of a writer.
type lastError struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (l *lastError) Write(p []byte) (n int, err error) {
	n, err = l.w.Write(p)
	l.err = err
	return n, err
}

// Sweep removes the objects that the recorded list has replaced. All of them are deleted with the run, so a failure does no harm.
func (a *Artifacts) Sweep(ctx context.Context, list *v1alpha1.ArtifactList) {
	if list == nil {
		return
	}
	old := a.stored
	if a.Recorded != nil {
		old = append(old, configMaps(a.Recorded)...)
	}
	a.Recorded, a.stored = list, nil
	kept := configMaps(list)
	slices.Sort(old)
	for _, name := range slices.Compact(old) {
		if slices.Contains(kept, name) {
			continue
		}
		if err := a.remove(ctx, name); err != nil {
			a.Env.Log.Warn("a ConfigMap with an artifact that was replaced stays until the run is deleted", "configMap", name, "error", err)
		}
	}
}

func configMaps(list *v1alpha1.ArtifactList) []string {
	var names []string
	for i := range list.Files {
		if name := list.Files[i].ConfigMapName; name != "" {
			names = append(names, name)
		}
	}
	return names
}

// remove deletes the ConfigMap if it belongs to the run, and no later one of its name.
func (a *Artifacts) remove(ctx context.Context, name string) error {
	cm := &metav1.PartialObjectMetadata{}
	cm.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err := a.Env.Live.Get(ctx, client.ObjectKey{Namespace: a.Env.Run.Namespace, Name: name}, cm)
	if err != nil || !isArtifactOf(cm, a.Env.Run) {
		return client.IgnoreNotFound(err)
	}
	uid := cm.UID
	return client.IgnoreNotFound(a.Env.Client.Delete(ctx, cm, client.Preconditions{UID: &uid}))
}
