// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

// Files reads the files of a revision, and returns them only if they match its content hash byte for byte.
func (s *Store) Files(ctx context.Context, rev *v1alpha1.SkillRevision) ([]skill.File, error) {
	files := make([]skill.File, 0, len(rev.Spec.Files))
	for f, err := range s.Each(ctx, rev) {
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// Each reads the files of a revision one after the other, in the order of its spec, and yields each only if it matches the content hash
// byte for byte. An error is the last value that it yields; without one, there was nothing else in the ConfigMaps. It holds one file and
// one ConfigMap at a time.
func (s *Store) Each(ctx context.Context, rev *v1alpha1.SkillRevision) iter.Seq2[skill.File, error] {
	return func(yield func(skill.File, error) bool) {
		fail := func(err error) { yield(skill.File{}, fmt.Errorf("SkillRevision %s: %w", rev.Name, err)) }
		if err := checkList(rev); err != nil {
			fail(err)
			return
		}
		content := newChunks(ctx, s.Live, rev.Namespace, rev.Spec.ConfigMapNames, rev.UID)
		for _, f := range rev.Spec.Files {
			file, err := readFile(content, f)
			if err != nil {
				fail(err)
				return
			}
			if !yield(file, nil) {
				return
			}
		}
		switch _, err := io.ReadFull(content, make([]byte, 1)); {
		case err == nil:
			fail(fmt.Errorf("%w: there is more than its files have", ErrDamaged))
		case !errors.Is(err, io.EOF):
			fail(err)
		}
	}
}

// File reads one file of a revision as Each does, and of the ConfigMaps only those that hold it.
func (s *Store) File(ctx context.Context, rev *v1alpha1.SkillRevision, path string) (skill.File, error) {
	file, err := s.file(ctx, rev, path)
	if err != nil {
		return skill.File{}, fmt.Errorf("SkillRevision %s: %w", rev.Name, err)
	}
	return file, nil
}

func (s *Store) file(ctx context.Context, rev *v1alpha1.SkillRevision, path string) (skill.File, error) {
	if err := checkList(rev); err != nil {
		return skill.File{}, err
	}
	i := slices.IndexFunc(rev.Spec.Files, func(f v1alpha1.RevisionFile) bool { return f.Path == path })
	if i < 0 {
		return skill.File{}, fmt.Errorf("%w: it has no %s", ErrDamaged, path)
	}
	from := int64(0)
	for _, f := range rev.Spec.Files[:i] {
		from += f.Size
	}
	names := rev.Spec.ConfigMapNames
	content := newChunks(ctx, s.Live, rev.Namespace, names[min(len(names), int(from/ChunkBytes)):], rev.UID)
	if _, err := io.CopyN(io.Discard, content, from%ChunkBytes); err != nil {
		return skill.File{}, tooLittle(err)
	}
	return readFile(content, rev.Spec.Files[i])
}

// checkList returns an error if the list of files does not match the content hash, or cannot be that of a revision.
func checkList(rev *v1alpha1.SkillRevision) error {
	if skill.HashOf(rev.Spec.Files) != rev.Spec.ContentHash {
		return fmt.Errorf("%w: its content hash is not that of its files", ErrDamaged)
	}
	left := int64(MaxChunks * ChunkBytes)
	for _, f := range rev.Spec.Files {
		if f.Size < 0 || f.Size > left {
			return fmt.Errorf("%w: no revision has files of that size", ErrDamaged)
		}
		left -= f.Size
	}
	return nil
}

func readFile(content io.Reader, f v1alpha1.RevisionFile) (skill.File, error) {
	file := skill.File{Path: f.Path, Content: make([]byte, f.Size), Executable: f.Executable}
	if _, err := io.ReadFull(content, file.Content); err != nil {
		return skill.File{}, tooLittle(err)
	}
	if sum := sha256.Sum256(file.Content); hex.EncodeToString(sum[:]) != f.SHA256 {
		return skill.File{}, fmt.Errorf("%w: %s is another file", ErrDamaged, f.Path)
	}
	return file, nil
}

// tooLittle distinguishes the end of the bytes from an error while reading them.
func tooLittle(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: there is less than its files have", ErrDamaged)
	}
	return err
}
