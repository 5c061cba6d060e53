// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/archive/bucket"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// stdin in place of a bucket's URL.
const stdin = "-"

// target is the archive to verify and what is known about it.
type target struct {
	bucket, key string
	head        string
	// run is the cluster's record of the run, nil if the cluster was not asked.
	run *v1alpha1.MotorRun
}

func (c Command) verify(ctx context.Context, args []string) error {
	fs := pflag.NewFlagSet("verify", pflag.ContinueOnError)
	var at cluster.Flags
	at.Bind(fs, "namespace of a run that is given without one")
	head := fs.String("head", "", "head of the chain as it was recorded, status.archive.head")
	run := fs.String("run", "", "[NAMESPACE/]NAME of the run, whose status has key and head")
	if err := verb.Parse(fs, args, "the bucket's URL, or - for what comes by standard input,", "KEY?"); err != nil {
		return err
	}
	t, err := targetOf(fs.Args(), *head, *run)
	if err != nil {
		return verb.Misused(err)
	}
	if *run != "" {
		if err := c.ask(ctx, at, *run, &t); err != nil {
			return err
		}
	}
	in, err := c.open(ctx, t)
	if err != nil {
		return err
	}
	defer in.Close()
	held, err := archive.Read(in, t.head)
	if err == nil {
		err = t.compare(held)
	}
	var broken *archive.BrokenLink
	if errors.As(err, &broken) || errors.Is(err, archive.ErrDifferent) {
		fmt.Fprintf(c.Out, "broken: %v\n", err)
		return verb.ErrNo
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "ok: MotorRun %s/%s, %d steps, head %s\n", held.Namespace, held.Name, len(held.Steps), held.Head)
	if t.head == "" {
		fmt.Fprintln(c.Err, "note: without --head or --run, a file that was written anew as a whole is not noticed")
	}
	return nil
}

// targetOf reads the arguments.
func targetOf(args []string, head, run string) (target, error) {
	t := target{head: head}
	if head != "" && !archive.IsDigest(head) {
		return t, fmt.Errorf("--head %q is not sha256: and 64 hexadecimal digits", head)
	}
	if head != "" && run != "" {
		return t, errors.New("give --head or --run: the run's status has the head")
	}
	t.bucket = args[0]
	known := t.bucket == stdin || run != ""
	switch rest := args[1:]; {
	case known && len(rest) > 0:
		return t, fmt.Errorf("too many arguments: %s", strings.Join(rest, " "))
	case !known && len(rest) == 0:
		return t, errors.New("the key of the archive is missing: give it, or --run")
	case !known:
		t.key = rest[0]
	}
	return t, nil
}

// ask reads key and head from the run's status.
func (c Command) ask(ctx context.Context, at cluster.Flags, run string, t *target) error {
	namespace, name, found := strings.Cut(run, "/")
	if !found {
		namespace, name = "", run
	}
	if name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("--run %q is not [NAMESPACE/]NAME", run)
	}
	r, err := c.ReadRun(ctx, at, namespace, name)
	if err != nil {
		return err
	}
	if r.Status.Archive == nil {
		return fmt.Errorf("MotorRun %s/%s has no archive: its status.archive is not set", r.Namespace, r.Name)
	}
	t.run, t.key, t.head = r, r.Status.Archive.Key, r.Status.Archive.Head
	return nil
}

func (c Command) open(ctx context.Context, t target) (io.ReadCloser, error) {
	if t.bucket == stdin {
		return io.NopCloser(c.In), nil
	}
	b, err := bucket.Open(ctx, t.bucket)
	if err != nil {
		return nil, err
	}
	in, err := b.Read(ctx, t.key)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return in, nil
}

// compare checks whether the archive is that of the run. With the head of the run's status it can be no other, unless the status was
// written to the wrong run.
func (t target) compare(held archive.Manifest) error {
	if t.run == nil {
		return nil
	}
	if held.UID != string(t.run.UID) || len(held.Steps) != int(t.run.Status.Archive.Steps) {
		return fmt.Errorf("%w: it is of the run with the UID %q and has %d steps, the MotorRun %s/%s has the UID %s and %d archived steps",
			archive.ErrDifferent, held.UID, len(held.Steps), t.run.Namespace, t.run.Name, t.run.UID, t.run.Status.Archive.Steps)
	}
	return nil
}
