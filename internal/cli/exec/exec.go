// SPDX-License-Identifier: Apache-2.0

// Package exec has the verb that runs one piece of code without a model.
package exec

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/follow"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/start"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// options are the flags.
type options struct {
	name, language string
	domains        []string
	codeTimeout    time.Duration
	timeout        time.Duration
	format         output.Format
}

// New is the verb.
func New(s verb.Streams, connect cluster.Connect) *cobra.Command {
	cmd := &cobra.Command{
		Use: "exec [FILE]", Short: "Run one piece of code in a sandbox, without a model.", Args: verb.Args("FILE?"),
		Long: `Run one piece of code in a sandbox of its own, without a model, and print its value as JSON.

The code comes from FILE, or without one, or with -, from standard input. What it prints goes to standard error, and so does an error of it. The
exit code is 0 if the code had a value, 1 if it failed, 3 if --timeout is over first, and 5 if the cluster cannot be asked.`,
		Example: `  kubectl motor exec compound.py
  echo "[1, 2, 3].map(x => x * x)" | kubectl motor exec --language javascript
  kubectl motor exec rates.js --domains rates.example.org --code-timeout 20s -o json`,
	}
	var o options
	fs := cmd.Flags()
	fs.StringVar(&o.language, "language", "", "javascript or python; unset, the end of the name of FILE says it: .js, .mjs, .cjs or .py")
	fs.StringSliceVar(&o.domains, "domains", nil, "hosts that the code may reach")
	fs.DurationVar(&o.codeTimeout, "code-timeout", 0, "most time that the code may take: 100ms to 5s, with --domains up to 30s; unset, the most")
	fs.DurationVar(&o.timeout, "timeout", 0, "wait for so long at most, as in 2m, for the sandbox too; the run goes on then")
	fs.StringVar(&o.name, "name", "", "name of the run; unset, the API server makes one up")
	o.format.BindOnly(cmd, "json, jsonl or yaml: the value with console, duration and error", output.JSON, output.JSONL, output.YAML)
	_ = cmd.RegisterFlagCompletionFunc("language", cobra.FixedCompletions(languages, cobra.ShellCompDirectiveNoFileComp)) // The flag is there.
	cmd.RunE = verb.Asks(func(cmd *cobra.Command, args []string) error {
		file := verb.Arg(args, 0)
		if err := o.validate(file); err != nil {
			return err
		}
		source, err := read(cmd.Context(), s, file)
		if err != nil {
			return err
		}
		return o.run(cmd.Context(), s, connect, source)
	})
	return cmd
}

// run creates the run, waits for its end and prints what it came to.
func (o *options) run(ctx context.Context, s verb.Streams, connect cluster.Connect, source string) error {
	c, namespace, err := connect()
	if err != nil {
		return err
	}
	run := o.build(namespace, source)
	switch answered, err := start.Create(ctx, c, run); {
	case err != nil && answered:
		// It is known that the code does not run.
		fmt.Fprintf(s.Err, "error: %v\n", err)
		return verb.ErrNo
	case err != nil:
		return err
	}
	w := &waiter{run: run}
	// A run that failed has a result, too.
	if err := follow.Run(ctx, c, w, run, follow.Options{Timeout: o.timeout, WithoutSteps: true}); err != nil && w.run.Status.CompletionTime == nil {
		fmt.Fprintf(s.Err, "note: the code is that of motorrun/%s\n", run.Name)
		return err
	}
	return o.print(s, w.run)
}

func (o *options) build(namespace, source string) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: o.name},
		Spec: v1alpha1.MotorRunSpec{
			Mode: v1alpha1.ModeOneshot,
			Code: &v1alpha1.Code{Language: o.language, Source: source, TimeoutMilliseconds: int32(o.codeTimeout.Milliseconds())},
		},
	}
	if o.name == "" {
		run.GenerateName = "exec-"
	}
	for _, d := range o.domains {
		run.Spec.Domains = append(run.Spec.Domains, v1alpha1.Domain(d))
	}
	return run
}

// waiter is a follow.Reader that keeps the run.
type waiter struct{ run *v1alpha1.MotorRun }

// Steps implements follow.Reader.
func (w *waiter) Steps([]v1alpha1.MotorStep) {}

// Run implements follow.Reader.
func (w *waiter) Run(run *v1alpha1.MotorRun) (ended bool) {
	w.run = run
	return run.Status.CompletionTime != nil
}

// End implements follow.Reader.
func (w *waiter) End() {}
