// SPDX-License-Identifier: Apache-2.0

package archiver

import (
	"context"
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
)

// store writes the archive and returns its manifest. It trusts only what it reads back and not what it wrote: the steps are deleted because of it.
// An archive of a former try is accepted if it is the same, and nothing is ever overwritten.
func (r *Reconciler) store(ctx context.Context, key string, run *v1alpha1.MotorRun) (archive.Manifest, error) {
	steps, err := r.steps(ctx, run)
	if err != nil {
		return archive.Manifest{}, err
	}
	var want archive.Manifest
	var unread error
	err = r.Archive.Write(ctx, key, func(out io.Writer) (err error) {
		want, err = r.fill(ctx, out, run, steps, &unread)
		return err
	})
	if unread != nil && ctx.Err() == nil {
		return archive.Manifest{}, unread
	}
	if err != nil && !errors.Is(err, archive.ErrExists) {
		return archive.Manifest{}, &archiveError{err}
	}
	found, err := r.read(ctx, key, "")
	if err != nil {
		return archive.Manifest{}, err
	}
	if err := want.Same(&found); err != nil {
		return archive.Manifest{}, &archiveError{fmt.Errorf("%s: %w; look at it and move it away", key, err)}
	}
	return found, nil
}

// fill writes the chain, one step in memory at a time. It records in unread an error of the cluster, as opposed to one of the archive.
func (r *Reconciler) fill(ctx context.Context, out io.Writer, run *v1alpha1.MotorRun, steps []stepRef, unread *error) (archive.Manifest, error) {
	w, err := archive.NewWriter(out, run)
	if err != nil {
		return archive.Manifest{}, err
	}
	for _, ref := range steps {
		var step v1alpha1.MotorStep
		if *unread = r.Live.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: ref.name}, &step); *unread != nil {
			return archive.Manifest{}, *unread
		}
		if err := w.Step(&step); err != nil {
			return archive.Manifest{}, err
		}
	}
	return w.Close()
}

func (r *Reconciler) read(ctx context.Context, key, head string) (archive.Manifest, error) {
	in, err := r.Archive.Read(ctx, key)
	if err != nil {
		return archive.Manifest{}, &archiveError{err}
	}
	defer in.Close()
	m, err := archive.Read(in, head)
	if err != nil {
		return archive.Manifest{}, &archiveError{fmt.Errorf("%s: %w", key, err)}
	}
	return m, nil
}
