// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// manyFiles is how many other files must use a definition before it counts as a lodger.
const manyFiles = 3

// lodgers finds package-level definitions that at least three files of their package use, and their own file does not.
func lodgers(root string) ([]string, error) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: root}, "./cmd/...", "./internal/...")
	if err != nil {
		return nil, fmt.Errorf("load the packages: %w", err)
	}
	// A pattern never reaches into another module.
	api, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: filepath.Join(root, "api")}, "./...")
	if err != nil {
		return nil, fmt.Errorf("load the packages of the API: %w", err)
	}
	pkgs = append(pkgs, api...)
	var found []string
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		found = append(found, lodgersOf(p)...)
	}
	slices.Sort(found)
	return found, nil
}

func lodgersOf(p *packages.Package) []string {
	uses := map[types.Object]map[string]bool{}
	for _, f := range p.Syntax {
		here := p.Fset.Position(f.Pos()).Filename
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if o := p.TypesInfo.Uses[id]; o != nil && o.Pkg() == p.Types && o.Parent() == p.Types.Scope() {
				if uses[o] == nil {
					uses[o] = map[string]bool{}
				}
				uses[o][here] = true
			}
			return true
		})
	}
	var found []string
	for o, files := range uses {
		own := p.Fset.Position(o.Pos()).Filename
		if files[own] || len(files) < manyFiles {
			continue
		}
		var others []string
		for f := range files {
			others = append(others, strings.TrimSuffix(filepath.Base(f), ".go"))
		}
		slices.Sort(others)
		found = append(found, fmt.Sprintf("%s.%s lives in %s, which does not use it; used by %s", p.Types.Name(), o.Name(), filepath.Base(own), strings.Join(others, ", ")))
	}
	return found
}
