// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/archive/bucket"
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

// verifier has the dependencies of the verb.
type verifier struct {
	verb.Streams

	read ReadRun
}

func verify(s verb.Streams, read ReadRun) *cobra.Command {
	v := verifier{s, read}
	cmd := &cobra.Command{
		Use: "verify BUCKET-URL [KEY]", Short: "Check the archive of a finished run.",
		Args: verb.Args("the bucket's URL, or - for what comes by standard input,", "KEY?"),
		Example: `  kubectl motor archive verify 's3://my-archive?region=eu-central-1' --run default/portfolio
  kubectl motor archive verify file:///backup default/portfolio/0b1c.jsonl --head sha256:9d2c
  kubectl motor archive verify - --run portfolio < portfolio.jsonl`,
	}
	head := cmd.Flags().String("head", "", "head of the chain as it was recorded, status.archive.head")
	run := cmd.Flags().String("run", "", "[NAMESPACE/]NAME of the run, whose status has key and head")
	cmd.RunE = verb.Asks(func(cmd *cobra.Command, args []string) error {
		t, err := targetOf(args, *head, *run)
		if err != nil {
			return verb.Misused(err)
		}
		return v.verify(cmd.Context(), t, *run)
	})
	return cmd
}

func (v verifier) verify(ctx context.Context, t target, run string) error {
	if run != "" {
		if err := v.ask(ctx, run, &t); err != nil {
			return err
		}
	}
	in, err := v.open(ctx, t)
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
		fmt.Fprintf(v.Out, "broken: %v\n", err)
		return verb.ErrNo
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(v.Out, "ok: MotorRun %s/%s, %d steps, head %s\n", held.Namespace, held.Name, len(held.Steps), held.Head)
	if t.head == "" {
		fmt.Fprintln(v.Err, "note: without --head or --run, a file that was written anew as a whole is not noticed")
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
func (v verifier) ask(ctx context.Context, run string, t *target) error {
	namespace, name, found := strings.Cut(run, "/")
	if !found {
		namespace, name = "", run
	}
	if name == "" || strings.Contains(name, "/") {
		return verb.Misusedf("--run %q is not [NAMESPACE/]NAME", run)
	}
	r, err := v.read(ctx, namespace, name)
	if err != nil {
		return err
	}
	if r.Status.Archive == nil {
		return fmt.Errorf("MotorRun %s/%s has no archive: its status.archive is not set", r.Namespace, r.Name)
	}
	t.run, t.key, t.head = r, r.Status.Archive.Key, r.Status.Archive.Head
	return nil
}

func (v verifier) open(ctx context.Context, t target) (io.ReadCloser, error) {
	if t.bucket == stdin {
		return io.NopCloser(v.In), nil
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
