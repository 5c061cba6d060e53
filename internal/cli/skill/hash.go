// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"fmt"

	"github.com/spf13/cobra"

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
	files, left, err := readFolder(dir)
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
