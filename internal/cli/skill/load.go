// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/rights"
	"motorcortex.dev/motorcortex/internal/cli/skill/decision"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/skill"
)

const (
	// maxInlineFiles and maxInlineBytes bound the files within a Skill: the API's limit, and what one object can have beside its status.
	maxInlineFiles = 64
	maxInlineBytes = 1 << 20
	fluxScheme     = "flux://"
)

// importing are the flags of import.
type importing struct {
	name, policy, pullSecret string
	// file is the one that the policy was read from.
	file   string
	format output.Format
	// where names the cluster in the command that is printed to paste; see cluster.Selected.
	where string
}

func (c Command) load() *cobra.Command {
	cmd := &cobra.Command{
		Use: "import DIR|oci://REFERENCE|flux://KIND/NAME[/PATH]", Short: "Make a Skill of files, or give a Skill other ones.", Args: verb.Args("the DIR, or where else the files are,"),
		Long: `Make a Skill of the files in a folder, of an artifact in an OCI registry, or of a source of Flux, which is the way to files in Git. If the Skill is there, it
gets the files in place of those that it has.

The policy is the one in DIR.yaml, or in the file of --policy. Without such a file, the policy of the Skill stays. Nothing is approved: runs cannot use the files
before a person has approved them. Files that were approved before, with the policy of that approval, are approved as soon as they are there again: reject a
content that must not come back. With -o, nothing is sent, and the Skill is printed that would be.`,
		Example: `  kubectl motor skill import ./weather
  kubectl motor skill import ./weather -o yaml
  kubectl motor skill import oci://registry.example.com/skills/weather@sha256:… --policy weather.yaml
  kubectl motor skill import flux://GitRepository/skills/weather`,
	}
	var o importing
	cmd.Flags().StringVar(&o.name, "name", "", "name of the Skill, of an artifact or a source of Flux; unset, it is the last part of where the files are")
	cmd.Flags().StringVar(&o.policy, "policy", "", "file with the policy, or with the Skill that has it, instead of DIR.yaml")
	cmd.Flags().StringVar(&o.pullSecret, "pull-secret", "", "Secret of type kubernetes.io/dockerconfigjson by which the operator reads the artifact")
	o.format.Bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.where = cluster.Selected(cmd)
		return c.importSkill(cmd.Context(), args[0], &o)
	}
	return cmd
}

func (c Command) importSkill(ctx context.Context, from string, o *importing) error {
	if o.format == output.Name {
		return verb.Misusedf("with -o, nothing is sent: -o name would look as if the Skill were there")
	}
	s, policy, err := o.skill(from)
	if err != nil {
		return err
	}
	if policy != nil {
		if err := skill.CheckPolicy(policy); err != nil {
			return fmt.Errorf("the policy cannot be granted: %w", err)
		}
		s.Spec.Policy = *policy
	}
	if o.file != "" {
		fmt.Fprintf(c.Err, "note: the policy is that of %s\n", shown(o.file))
	}
	cl, namespace, err := c.Connect()
	if err != nil {
		return err
	}
	if s.Namespace != "" && s.Namespace != namespace {
		return fmt.Errorf("%s: metadata.namespace is %s, and the Skill goes to %s: name that namespace with -n, or take it out of the file", shown(o.file), shown(s.Namespace), namespace)
	}
	s.Namespace = namespace
	if o.format != output.ForPeople {
		scheme, err := cluster.Scheme()
		if err != nil {
			return err
		}
		return output.Object(c.Out, o.format, scheme, s)
	}
	return c.apply(ctx, cl, s, policy != nil, o.where)
}

// skill is the Skill that the arguments say, and its policy, nil if there is none.
func (o *importing) skill(from string) (*v1alpha1.Skill, *v1alpha1.SkillPolicy, error) {
	var err error
	s := &v1alpha1.Skill{Spec: v1alpha1.SkillSpec{Source: &v1alpha1.SkillSource{}}}
	file := o.policy
	switch scheme, rest, isURL := strings.Cut(from, "://"); {
	case strings.HasPrefix(from, ociScheme):
		s.Spec.Source.OCI = &v1alpha1.SkillOCI{Reference: rest, PullSecretName: o.pullSecret}
		repository, _, _ := strings.Cut(path.Base(rest), "@")
		s.Name, _, _ = strings.Cut(repository, ":")
	case strings.HasPrefix(from, fluxScheme):
		s.Spec.Source.Flux, err = fluxSource(rest)
		s.Name = path.Base(rest)
	case isURL || strings.HasPrefix(from, "git@"):
		return nil, nil, verb.Misusedf("the operator reads no files from %s: a Git repository is read by Flux, so make a GitRepository of it and import flux://GitRepository/NAME/PATH, "+
			"or clone it and import the folder", shown(scheme))
	default:
		if s.Spec.Source.Files, s.Name, err = inline(from); err == nil && file == "" {
			file, err = beside(from, s.Name)
		}
		if o.name != "" && o.name != s.Name {
			return nil, nil, verb.Misusedf("--name: the skill in the folder is %s, and its name is that of the folder", s.Name)
		}
	}
	if o.pullSecret != "" && s.Spec.Source.OCI == nil {
		return nil, nil, verb.Misusedf("--pull-secret goes with an artifact, as in oci://REGISTRY/REPOSITORY:TAG")
	}
	if err != nil {
		return nil, nil, err
	}
	if o.name != "" {
		s.Name = o.name
	}
	if err := skill.ValidName(s.Name); err != nil {
		return nil, nil, verb.Misusedf("%w, with --name", err)
	}
	if file == "" {
		return s, nil, nil
	}
	o.file = file
	of, err := readSkill(file)
	if err != nil {
		return nil, nil, err
	}
	if of.Name != "" && of.Name != s.Name {
		return nil, nil, fmt.Errorf("%s: metadata.name is %s, and the Skill is %s: make them equal, or name the file of its policy with --policy", shown(file), shown(of.Name), s.Name)
	}
	// The caller compares the namespace, which only the connection has.
	s.Namespace = of.Namespace
	return s, &of.Spec.Policy, nil
}

// fluxSource reads KIND/NAME[/PATH].
func fluxSource(rest string) (*v1alpha1.SkillFlux, error) {
	kind, rest, _ := strings.Cut(rest, "/")
	name, folder, _ := strings.Cut(rest, "/")
	if !slices.Contains([]string{"GitRepository", "OCIRepository", "Bucket"}, kind) || name == "" {
		return nil, verb.Misusedf("a source of Flux is %sGitRepository/NAME[/PATH], or one of OCIRepository or Bucket", fluxScheme)
	}
	return &v1alpha1.SkillFlux{Kind: kind, Name: name, Path: folder}, nil
}

// beside is the file with the policy beside a folder, "" if there is none.
func beside(dir, name string) (string, error) {
	file := policyFile(dir, name)
	_, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return file, err
}

// inline reads the files of a folder, and the name of the skill, for the source that is within the Skill.
func inline(dir string) ([]v1alpha1.SkillFile, string, error) {
	name, err := nameOf(dir)
	if err != nil {
		return nil, "", err
	}
	files, _, err := readFolder(dir)
	if err != nil {
		return nil, "", err
	}
	_, checked, err := skill.Check(name, files)
	if err != nil {
		return nil, "", err
	}
	const instead = "push the files, and import the artifact: \"kubectl motor skill push --help\" says how"
	if len(checked) > maxInlineFiles {
		return nil, "", fmt.Errorf("there are %d files, and a Skill can have %d in it: %s", len(checked), maxInlineFiles, instead)
	}
	var list []v1alpha1.SkillFile
	for _, f := range checked {
		if !isText(f.Content) {
			return nil, "", fmt.Errorf("%s is no text, and a Skill has only texts in it: %s", shown(f.Path), instead)
		}
		list = append(list, v1alpha1.SkillFile{Path: f.Path, Content: string(f.Content), Executable: f.Executable})
	}
	encoded, err := json.Marshal(list)
	if err == nil && len(encoded) > maxInlineBytes {
		err = fmt.Errorf("the files take %d bytes, and a Skill has room for %d: %s", len(encoded), maxInlineBytes, instead)
	}
	return list, name, err
}

// apply sends the skill. where is in the command that is printed.
func (c Command) apply(ctx context.Context, cl client.Client, s *v1alpha1.Skill, withPolicy bool, where string) error {
	is := subject{client: cl, Skill: &v1alpha1.Skill{}}
	switch err := cl.Get(ctx, client.ObjectKeyFromObject(s), is.Skill); {
	case apierrors.IsNotFound(err):
		is.Skill = s
		if err := cl.Create(ctx, s); err != nil {
			return notImported(err, s)
		}
		fmt.Fprintf(c.Out, "skill.motorcortex.dev/%s created\n", s.Name)
	case err != nil:
		return rights.Refused(fmt.Errorf("get the Skill %s/%s: %w", s.Namespace, s.Name, err), rights.ToRead, s.Namespace)
	default:
		spec := is.Spec.DeepCopy()
		spec.Source = s.Spec.Source
		if withPolicy {
			spec.Policy = s.Spec.Policy
		}
		if equality.Semantic.DeepEqual(*spec, is.Spec) {
			fmt.Fprintf(c.Out, "skill.motorcortex.dev/%s unchanged\n", s.Name)
			break
		}
		if err := decision.Replace(ctx, cl, is.Skill, spec); err != nil {
			return notImported(err, s)
		}
		fmt.Fprintf(c.Out, "skill.motorcortex.dev/%s configured\n", s.Name)
	}
	c.printState(ctx, is)
	if is.Status.State != v1alpha1.SkillApproved {
		fmt.Fprintf(c.Out, "             Look at it with \"kubectl motor skill review %s -n %s%s\".\n", is.Name, is.Namespace, where)
	}
	return nil
}

// notImported says why a skill was not taken.
func notImported(err error, s *v1alpha1.Skill) error {
	if apierrors.IsInvalid(err) {
		return fmt.Errorf("the Skill %s/%s is refused: %s", s.Namespace, s.Name, shown(lookup.Invalid(err)))
	}
	return rights.Refused(fmt.Errorf("import the Skill %s/%s: %w", s.Namespace, s.Name, err), rights.ToWriteSkills, s.Namespace)
}
