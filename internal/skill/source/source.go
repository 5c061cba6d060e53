// SPDX-License-Identifier: Apache-2.0

// Package source reads the files of a skill from the location in its spec.source, and writes artifacts that it reads.
package source

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

// networkTimeout bounds a read of a source outside of the cluster's API.
const networkTimeout = time.Minute

// Read is the content of a source.
type Read struct {
	// Files are unchecked: skill.Check decides whether they are a skill. A file in an archive that exceeds skill.MaxFileBytes is cut one byte
	// after that limit, so that it is refused or omitted.
	Files []skill.File
	// Origin identifies where the files were read from, "" for inline files and ConfigMaps: the digest behind a tag, a Git commit.
	Origin string
}

// Reader reads sources.
type Reader struct {
	// Live reads past any cache.
	Live client.Reader
	// HTTP reaches registries and the artifacts of Flux, http.DefaultClient if it is nil.
	HTTP *http.Client
	// FluxHTTP reaches the host FluxHost in place of HTTP, if it is not nil: the one of the cluster's Services that serves the artifacts
	// of Flux.
	FluxHTTP *http.Client
	FluxHost string
}

// Read reads the source of a skill in that namespace. An error that is no *Problem is trouble with the API server, or the end of
// the context.
func (r *Reader) Read(ctx context.Context, namespace string, s *v1alpha1.SkillSource) (Read, error) {
	switch {
	case s.ConfigMaps != nil:
		files, err := r.configMaps(ctx, namespace, s.ConfigMaps)
		return Read{Files: files}, err
	case s.OCI != nil:
		return overNetwork(ctx, func(ctx context.Context) (Read, error) { return r.oci(ctx, namespace, s.OCI) })
	case s.Flux != nil:
		return overNetwork(ctx, func(ctx context.Context) (Read, error) { return r.flux(ctx, namespace, s.Flux) })
	}
	var files collection
	for _, f := range s.Files {
		if err := files.add(skill.File{Path: f.Path, Content: []byte(f.Content), Executable: f.Executable}); err != nil {
			return Read{}, err
		}
	}
	return Read{Files: files.list}, nil
}

// overNetwork bounds the time of a read. If the caller's context ended, that is the error.
func overNetwork(ctx context.Context, read func(context.Context) (Read, error)) (Read, error) {
	bounded, cancel := context.WithTimeout(ctx, networkTimeout)
	defer cancel()
	got, err := read(bounded)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return Read{}, ctx.Err()
	case bounded.Err() != nil:
		return Read{}, unavailable("The source could not be read within %s.", networkTimeout)
	default:
		return Read{}, err
	}
	return got, nil
}

// configMaps reads the keys of ConfigMaps as files.
func (r *Reader) configMaps(ctx context.Context, namespace string, named []v1alpha1.SkillConfigMap) ([]skill.File, error) {
	var files collection
	var odd []string
	for _, named := range named {
		var cm corev1.ConfigMap
		switch err := r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: named.Name}, &cm); {
		case apierrors.IsNotFound(err):
			return nil, notFound("There is no ConfigMap %s.", named.Name)
		case err != nil:
			return nil, fmt.Errorf("get the ConfigMap %s: %w", named.Name, err)
		}
		content := make(map[string][]byte, len(cm.Data)+len(cm.BinaryData))
		maps.Copy(content, cm.BinaryData)
		for key, value := range cm.Data {
			content[key] = []byte(value)
		}
		for _, key := range slices.Sorted(maps.Keys(content)) {
			path, ok := keyPath(named, key)
			if !ok {
				odd = append(odd, fmt.Sprintf("%s of %s", quoted(key), named.Name))
				continue
			}
			if err := files.add(skill.File{Path: path, Content: content[key]}); err != nil {
				return nil, err
			}
		}
	}
	if len(odd) > 0 {
		more := ""
		if n := len(odd) - maxOddKeys; n > 0 {
			odd, more = odd[:maxOddKeys], fmt.Sprintf(" and %d more", n)
		}
		return nil, invalid("These keys of ConfigMaps are no paths: %s%s. Two underscores stand for / between folders, and _- for an underscore beside another one: "+
			"scripts/__init__.py is scripts___-_-init_-_-.py.", strings.Join(odd, ", "), more)
	}
	return files.list, nil
}

// maxOddKeys is how many keys are named that are no paths.
const maxOddKeys = 8

// keyEscapes are read from the left. A key can have no /, and a name in a Python package has two underscores in a row.
var keyEscapes = strings.NewReplacer("__", "/", "_-", "_")

// keyPath is the path of the file that a key of a ConfigMap is, false if it is none.
func keyPath(cm v1alpha1.SkillConfigMap, key string) (string, bool) {
	path := keyEscapes.Replace(key)
	if folder := strings.TrimSuffix(cm.Path, "/"); folder != "" {
		path = folder + "/" + path
	}
	return path, !strings.HasPrefix(path, "/") && !strings.HasSuffix(path, "/") && !strings.Contains(path, "//")
}

// collection are files, each path once.
type collection struct {
	list []skill.File
	seen map[string]bool
	size int
}

func (c *collection) add(f skill.File) error {
	if c.seen[f.Path] {
		return invalid("The file %s is there twice.", quoted(f.Path))
	}
	// An archive is bounded as it is read, except for sparse files, whose content is longer than their bytes in the archive.
	if c.size += len(f.Content); c.size > maxUnpackedBytes {
		return tooLarge("The files have more than %d MiB.", maxUnpackedBytes>>20)
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[f.Path] = true
	c.list = append(c.list, f)
	return nil
}
