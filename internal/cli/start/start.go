// SPDX-License-Identifier: Apache-2.0

// Package start has the verb that creates a run.
package start

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/follow"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// maxTask is the most bytes of a task.
const maxTask = 32768

// options are the flags.
type options struct {
	name, skill, model, template          string
	tools, domains, inputs, files, values []string
	follow                                bool
	until                                 follow.Options
	format                                output.Format
	where                                 string
}

// New is the verb.
func New(s verb.Streams, connect cluster.Connect) *cobra.Command {
	cmd := &cobra.Command{
		Use: "run TASK", Short: "Start a run.", Args: verb.Args("the TASK, or - for what comes by standard input,"),
		Long: `Start a run, and print its name.

With --follow, what it does is printed as it happens, and the exit code is that of its outcome: 0 if it succeeded, 1 if not, 2 if it waits for a person
when --timeout is over, 3 if it does not wait then, and 5 if the cluster cannot be asked.`,
		Example: `  kubectl motor run "Report the positions below target in artifacts/report.md" --tools read,write,code --file portfolio.csv --follow
  kubectl motor run --skill agentmail --input to=a@example.org "say hello"
  kubectl motor run --template report --param city=Bern --follow`,
	}
	var o options
	withTask := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if o.template != "" {
			return verb.Args()(cmd, args)
		}
		return withTask(cmd, args)
	}
	fs := cmd.Flags()
	fs.StringVar(&o.name, "name", "", "name of the run; unset, the API server makes one up")
	fs.StringSliceVar(&o.tools, "tools", nil, "tools that the model may use, as in read,write,code")
	fs.StringSliceVar(&o.domains, "domains", nil, "hosts that the run may reach")
	fs.StringVar(&o.skill, "skill", "", "skill that the run uses")
	fs.StringArrayVar(&o.inputs, "input", nil, "NAME=VALUE for an input of the skill")
	fs.StringArrayVar(&o.files, "file", nil, "file for the workspace, PATH or PATH=PATH-IN-THE-WORKSPACE; a symbolic link is followed, as cp does")
	fs.StringVar(&o.template, "template", "", "MotorRunTemplate of which the run is made, instead of a TASK")
	fs.StringArrayVar(&o.values, "param", nil, "NAME=VALUE for a parameter of the template")
	fs.StringVar(&o.model, "model", "", "model, instead of the one of the namespace")
	fs.BoolVarP(&o.follow, "follow", "f", false, "print what the run does until it has ended")
	fs.DurationVar(&o.until.Timeout, "timeout", 0, "follow for so long at most, as in 10m")
	fs.BoolVar(&o.until.UntilAsked, "until-asked", false, "follow until the run waits for a person, and end with 2 then")
	o.format.BindOnly(cmd, "jsonl: with --follow, a JSON object for each event in a line", output.JSONL)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !o.follow && (o.until.Timeout != 0 || o.until.UntilAsked) {
			return verb.Misusedf("--timeout and --until-asked go with --follow")
		}
		if !o.follow && o.format != output.ForPeople {
			return verb.Misusedf("--output goes with --follow")
		}
		o.where = cluster.Selected(cmd)
		build, err := o.maker(args, s.In)
		if err != nil {
			return err
		}
		return o.start(cmd.Context(), s, connect, build)
	}
	return cmd
}

// maker returns what makes the run, by the flags alone or of a template. It returns an error if the flags do not fit together.
func (o *options) maker(args []string, in io.Reader) (maker, error) {
	if o.template != "" {
		return o.ofTemplate()
	}
	if len(o.values) > 0 {
		return nil, verb.Misusedf("--param goes with --template")
	}
	run, err := o.build(args[0], in)
	return func(context.Context, client.Reader, string) (*v1alpha1.MotorRun, error) { return run, nil }, err
}

func (o *options) start(ctx context.Context, s verb.Streams, connect cluster.Connect, build maker) error {
	c, namespace, err := connect()
	if err != nil {
		return o.unknown(err)
	}
	run, err := build(ctx, c, namespace)
	if err != nil {
		return o.unknown(err)
	}
	run.Namespace = namespace
	answered, err := createWithFiles(ctx, c, run, s.Err)
	switch {
	case err != nil && !answered:
		return o.unknown(err)
	case err != nil:
		return err
	}
	p := follow.NewFormatter(s.Out, o.format, run)
	p.Where = o.where
	p.Created()
	if !o.follow {
		return nil
	}
	// The run is created: what goes wrong from here on says nothing about its outcome.
	return verb.Unknown(follow.Run(ctx, c, p, run, o.until))
}

// Create creates a run. Of an error, answered reports whether the API server refused the run: without an answer it may have been created.
func Create(ctx context.Context, c client.Client, run *v1alpha1.MotorRun) (answered bool, err error) {
	err = c.Create(ctx, run)
	if err == nil {
		return true, nil
	}
	if answer := apierrors.APIStatus(nil); !errors.As(err, &answer) {
		return false, fmt.Errorf("create the run: %w. It may have been created: \"kubectl motor list -n %s\"", err, run.Namespace)
	}
	return true, refused(err, run)
}

// refused says in words why a run was not created.
func refused(err error, run *v1alpha1.MotorRun) error {
	switch {
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("there is a MotorRun %s in the namespace %s already: give another --name, or none", run.Name, run.Namespace)
	case apierrors.IsInvalid(err):
		return fmt.Errorf("the run is refused: %s", lookup.Invalid(err))
	case apierrors.IsForbidden(err):
		if _, reason, found := strings.Cut(err.Error(), "denied request: "); found {
			return fmt.Errorf("the run is refused: %s", reason)
		}
		return fmt.Errorf("%w. Have the role edit, or the ClusterRole motorcortex-editor, bound to you in the namespace %s", err, run.Namespace)
	}
	return fmt.Errorf("create the run: %w", err)
}

// unknown marks an error that is none of the run's, where the exit code is that of the run.
func (o *options) unknown(err error) error {
	if o.follow {
		return verb.Unknown(err)
	}
	return err
}

// build makes the run of the flags.
func (o *options) build(task string, in io.Reader) (*v1alpha1.MotorRun, error) {
	if task == "-" {
		read, err := io.ReadAll(io.LimitReader(in, maxTask+1))
		if err != nil {
			return nil, fmt.Errorf("read the task: %w", err)
		}
		task = string(read)
	}
	if len(task) > maxTask {
		return nil, verb.Misusedf("the task has more than %d bytes: put what it is about into files (--file)", maxTask)
	}
	if strings.TrimSpace(task) == "" {
		return nil, verb.Misusedf("the task is empty")
	}
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: o.name}, Spec: v1alpha1.MotorRunSpec{Task: task}}
	if o.name == "" {
		run.GenerateName = "run-"
	}
	for _, t := range o.tools {
		run.Spec.Tools = append(run.Spec.Tools, v1alpha1.ToolName(t))
	}
	for _, d := range o.domains {
		run.Spec.Domains = append(run.Spec.Domains, v1alpha1.Domain(d))
	}
	if o.model != "" {
		run.Spec.Model = &v1alpha1.RunModel{Name: o.model}
	}
	if o.skill != "" {
		run.Spec.SkillRef = &v1alpha1.SkillRef{Name: o.skill}
	}
	for _, i := range o.inputs {
		name, value, found := strings.Cut(i, "=")
		if !found || o.skill == "" {
			return nil, verb.Misusedf("--input %q is NAME=VALUE, and goes with --skill", i)
		}
		run.Spec.Inputs = append(run.Spec.Inputs, v1alpha1.RunInput{Name: name, Value: value})
	}
	var err error
	run.Spec.Files, err = readFiles(o.files)
	return run, err
}
