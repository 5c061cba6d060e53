// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"path"
	"slices"
	"strings"
)

// Entries that programs leave in a workspace beside the work. The walk skips them, unless they were given, or the model named them in its
// call of finish. docs/reference/api.md lists them.
var (
	// builtFolders are skipped wherever they are, with their content.
	builtFolders = []string{
		"node_modules", "bower_components", "__pycache__", ".venv", "venv", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".eggs",
		".ipynb_checkpoints", ".cache", ".gradle", ".parcel-cache", ".next", ".nuxt", ".terraform", "target", "dist", "build", "htmlcov",
	}
	// builtEndings and builtFiles are skipped wherever they are.
	builtEndings = []string{".pyc", ".pyo", ".o", ".obj", ".class", ".swp"}
	builtFiles   = []string{".DS_Store", ".coverage"}
	// homePaths are what programs keep in the home of their user, which the workspace is.
	homePaths = []string{
		".npm", ".config", ".local", ".bash_history", ".python_history", ".node_repl_history", ".lesshst", ".viminfo", ".wget-hsts", ".gitconfig",
		".git-credentials", ".ssh", ".gnupg", ".cargo", ".rustup", ".m2", ".gem", ".bundle", ".pnpm-store", ".ipython", ".jupyter", ".dotnet", ".nuget",
		"go/pkg", "lost+found",
	}
)

// ignores decides which entries of the walk are compared.
type ignores struct {
	// given are the folders that have a given file in or below them.
	given map[string]bool
	// own are the folders and files that are kept in another way, or belong to the tool server.
	own []string
}

// newIgnores takes the paths of the given files, and the paths that are never compared.
func newIgnores(given []Given, own []string) *ignores {
	i := &ignores{given: map[string]bool{}, own: own}
	for _, g := range given {
		for dir := path.Dir(g.Path); dir != "." && !i.given[dir]; dir = path.Dir(dir) {
			i.given[dir] = true
		}
	}
	return i
}

// excluded reports whether the path belongs to something else than the changes, even if the model names it.
func (i *ignores) excluded(p string) bool {
	for _, own := range i.own {
		if within(own, p) {
			return true
		}
	}
	return slices.Contains(strings.Split(p, "/"), ".git")
}

// built reports whether one entry of a folder is left behind by programs. It does not consider the folders above.
func (i *ignores) built(p string, dir bool) bool {
	name := path.Base(p)
	switch {
	case dir && i.given[p]:
		return false
	case slices.Contains(homePaths, p):
		return true
	case dir:
		return slices.Contains(builtFolders, name) || strings.HasSuffix(name, ".egg-info")
	}
	return slices.Contains(builtFiles, name) || slices.ContainsFunc(builtEndings, func(end string) bool { return strings.HasSuffix(name, end) })
}

// within reports whether p is dir or below it.
func within(dir, p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
