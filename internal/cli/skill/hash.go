// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/skill"
)

func (c Command) hash() *cobra.Command {
	cmd := &cobra.Command{
		Use: "hash DIR", Short: "Compute the hashes of an approval from files, without a cluster.", Args: verb.Args("the DIR with the files"),
	}
	policy := cmd.Flags().String("policy", "", "file with the policy, or with the Skill that has it")
	cmd.RunE = func(_ *cobra.Command, args []string) error { return c.hashFiles(args[0], *policy) }
	return cmd
}

func (c Command) hashFiles(dir, policy string) error {
	files, left, err := read(dir)
	if err != nil {
		return err
	}
	m, checked, err := skill.Check("", files)
	if err != nil {
		return err
	}
	for _, w := range m.Warnings {
		fmt.Fprintf(c.Err, "note: %s\n", shown(w.Message))
	}
	for _, name := range append(m.LeftOut, left...) {
		fmt.Fprintf(c.Err, "note: %s is no part of the skill: tools leave it behind\n", shown(name))
	}
	var policyHash string
	if policy != "" {
		if policyHash, err = hashPolicy(policy); err != nil {
			return err
		}
	}
	contentHash := skill.ContentHash(checked)
	c.comparePlain(files, contentHash)
	fmt.Fprintf(c.Out, "contentHash: %s\n", contentHash)
	if policyHash != "" {
		fmt.Fprintf(c.Out, "policyHash:  %s\n", policyHash)
	}
	return nil
}

// comparePlain reports the hash that the files have as keys of ConfigMaps, if it differs.
func (c Command) comparePlain(files []skill.File, contentHash string) {
	for i := range files {
		files[i].Executable = false
	}
	_, files, err := skill.Check("", files)
	if err != nil {
		return
	}
	if plain := skill.ContentHash(files); plain != contentHash {
		fmt.Fprintf(c.Err, "note: out of ConfigMaps, which have no file modes, the contentHash is %s\n", plain)
	}
}

// read reads the files of a skill in a folder. left are files and folders that are none of it, and were not read.
func read(dir string) (files []skill.File, left []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	var links []error
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case skill.LeftBehind(name):
			left = append(left, name)
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			links = append(links, fmt.Errorf("%s is a link, or something else that is no file", shown(name)))
			return nil
		case len(files) > skill.MaxFiles:
			// There are too many, and Check reports that.
			return fs.SkipAll
		}
		f, err := readFile(root, name)
		files = append(files, f)
		return err
	})
	return files, left, errors.Join(append(links, err, root.Close())...)
}

// readFile reads a file, and no more of it than is needed to see that it is too large.
func readFile(root *os.Root, name string) (skill.File, error) {
	in, err := root.Open(name)
	if err != nil {
		return skill.File{}, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return skill.File{}, err
	}
	content, err := io.ReadAll(io.LimitReader(in, skill.MaxFileBytes+1))
	return skill.File{Path: name, Content: content, Executable: info.Mode()&0o111 != 0}, err
}

// hashPolicy reads a policy, or the first Skill in a file, and computes the hash that the policy has in a cluster.
func hashPolicy(file string) (string, error) {
	policy, err := readPolicy(file)
	if err != nil {
		return "", err
	}
	if err := skill.CheckPolicy(policy); err != nil {
		return "", fmt.Errorf("%s: the policy cannot be granted: %w", file, err)
	}
	return skill.PolicyHash(policy), nil
}

func policyOf(data []byte) (*v1alpha1.SkillPolicy, error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("there is no Skill in it")
		}
		var kind struct {
			Kind string `json:"kind"`
		}
		if err == nil {
			err = yaml.Unmarshal(document, &kind)
		}
		if err != nil {
			return nil, err
		}
		switch kind.Kind {
		case "Skill":
			var s v1alpha1.Skill
			err := yaml.UnmarshalStrict(document, &s)
			return &s.Spec.Policy, err
		case "":
			var p v1alpha1.SkillPolicy
			err := yaml.UnmarshalStrict(document, &p)
			return &p, err
		}
	}
}

// withDefaults fills in the defaults of the API server.
func withDefaults(p *v1alpha1.SkillPolicy) {
	for i := range p.Credentials {
		if p.Credentials[i].Slot.Type == "" {
			p.Credentials[i].Slot.Type = v1alpha1.SlotBearer
		}
	}
	for i := range p.Inputs {
		if p.Inputs[i].Type == "" {
			p.Inputs[i].Type = v1alpha1.InputString
		}
	}
	if a := p.Approval; a != nil {
		if a.Required == "" {
			a.Required = v1alpha1.ApprovalNever
		}
		if a.OnUnknown == "" {
			a.OnUnknown = v1alpha1.UnknownAskPerson
		}
	}
	if a := p.Accept; a != nil {
		for i := range a.Commands {
			if a.Commands[i].TimeoutSeconds == 0 {
				a.Commands[i].TimeoutSeconds = 60
			}
		}
	}
}
