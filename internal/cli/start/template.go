// SPDX-License-Identifier: Apache-2.0

package start

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/runtemplate"
)

// maker makes a run that is not created yet.
type maker func(ctx context.Context, c client.Reader, namespace string) (*v1alpha1.MotorRun, error)

// ofTemplate returns what makes the run of a template. The template says all that the other flags say.
func (o *options) ofTemplate() (maker, error) {
	if len(o.tools)+len(o.domains)+len(o.inputs) > 0 || o.skill != "" || o.model != "" {
		return nil, verb.Misusedf("--tools, --domains, --skill, --input and --model do not go with --template, which says that")
	}
	values := map[string]string{}
	for _, v := range o.values {
		name, value, found := strings.Cut(v, "=")
		if _, twice := values[name]; !found || twice {
			return nil, verb.Misusedf("--param %q is NAME=VALUE, once for each parameter", v)
		}
		values[name] = value
	}
	files, err := readFiles(o.files)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, c client.Reader, namespace string) (*v1alpha1.MotorRun, error) {
		run, err := OfTemplate(ctx, c, namespace, &v1alpha1.RunTemplateRef{Name: o.template}, values)
		if err != nil {
			return nil, err
		}
		run.Name = o.name
		if o.name == "" {
			run.GenerateName = "run-"
		}
		run.Spec.Files = append(run.Spec.Files, files...)
		return run, nil
	}, nil
}

// OfTemplate returns a run of a template with values for its parameters, without a name. If the reference has a digest, the template must have it.
func OfTemplate(ctx context.Context, c client.Reader, namespace string, ref *v1alpha1.RunTemplateRef, values map[string]string) (*v1alpha1.MotorRun, error) {
	template := &v1alpha1.MotorRunTemplate{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, template)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no MotorRunTemplate %s in the namespace %s", ref.Name, namespace)
	case err != nil:
		return nil, fmt.Errorf("read the MotorRunTemplate %s: %w", ref.Name, err)
	}
	if ref.Digest != "" {
		if digest, err := runtemplate.Digest(&template.Spec); err != nil || digest != ref.Digest {
			return nil, fmt.Errorf("the MotorRunTemplate %s has another content than %s: it was changed", ref.Name, ref.Digest)
		}
	}
	t, err := runtemplate.Expand(&template.Spec, values)
	if err != nil {
		return nil, fmt.Errorf("the MotorRunTemplate %s: %w", ref.Name, err)
	}
	run := runtemplate.Run(t)
	runtemplate.Annotate(run, v1alpha1.AnnotationTemplate, ref.Name)
	return run, nil
}
