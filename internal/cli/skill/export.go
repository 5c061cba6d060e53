// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/skill"
)

func (c Command) export() *cobra.Command {
	cmd := &cobra.Command{Use: "export NAME [DIR]", Short: "Write the files of a skill into a folder.", Args: ofSkill("DIR?")}
	var o options
	o.bindRevision(cmd)
	force := cmd.Flags().Bool("force", false, "replace the files of a skill that are in the folder, and leave all others")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.name = args[0]
		return c.exportSkill(cmd.Context(), &o, verb.Arg(args, 1), *force)
	}
	return cmd
}

func (c Command) exportSkill(ctx context.Context, o *options, dir string, force bool) error {
	s, rev, err := c.findRevision(ctx, o)
	if err != nil {
		return err
	}
	files, err := s.files(ctx, rev)
	if err != nil {
		return err
	}
	if dir == "" {
		dir = s.Name
	}
	if err := write(dir, files, force); err != nil {
		return err
	}
	for _, f := range files {
		fmt.Fprintf(c.Out, "%s\n", shown(path.Join(dir, f.Path)))
	}
	fmt.Fprintf(c.Out, "%d files of SkillRevision %s/%s\ncontentHash: %s\n", len(files), rev.Namespace, rev.Name, rev.Spec.ContentHash)
	return nil
}

// write makes the files of a skill in a folder those. Nothing outside of it is written, whatever the paths and the folder have.
func write(dir string, files []skill.File, force bool) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	if len(entries) > 0 && !force {
		return fmt.Errorf("the folder %s is not empty: --force replaces the files of a skill in it", dir)
	}
	if _, err := root.Lstat(skill.ManifestName); len(entries) > 0 && err != nil {
		// Every file of a skill's folder belongs to the skill: in another folder, that would be all of the user's files.
		return fmt.Errorf("the folder %s is not empty, and has no %s: export into an empty one", dir, skill.ManifestName)
	}
	if err := clearFiles(root); err != nil {
		return err
	}
	for _, f := range files {
		if err := writeFile(root, f); err != nil {
			return err
		}
	}
	return nil
}

// clearFiles removes the files of a skill, and links in place of its folders.
func clearFiles(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case skill.LeftBehind(name) && d.IsDir():
			return fs.SkipDir
		case skill.LeftBehind(name) || d.IsDir():
			return nil
		}
		return root.Remove(name)
	})
}

func writeFile(root *os.Root, f skill.File) error {
	mode := fs.FileMode(0o644)
	if f.Executable {
		mode = 0o755
	}
	if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
		return err
	}
	// An existing file here does not belong to a skill.
	file, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(f.Content)
	return errors.Join(err, file.Close())
}
