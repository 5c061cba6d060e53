// SPDX-License-Identifier: Apache-2.0

// The clienttypes makes the types of the clients that are not of Go, out of the schemas of the CustomResourceDefinitions.
//
//	clienttypes CRD-FOLDER PYTHON-FILE TYPESCRIPT-FILE
package main

import (
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: clienttypes CRD-FOLDER PYTHON-FILE TYPESCRIPT-FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "clienttypes:", err)
		os.Exit(1)
	}
}

func run(folder, pythonFile, typescriptFile string) error {
	objects, err := collect(folder)
	if err != nil {
		return err
	}
	for file, text := range map[string]string{pythonFile: writePython(objects), typescriptFile: writeTypeScript(objects)} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // It is source text, which everybody may read.
			return err
		}
	}
	return nil
}

// collect returns the types of all kinds in a folder, in the order in which they need each other.
func collect(folder string) ([]object, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no definition is in %s", folder)
	}
	c := collector{known: map[string]string{}}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, v := range crd.Spec.Versions {
			if v.Storage {
				if err := c.kind(crd.Spec.Names.Kind, v.Schema.OpenAPIV3Schema); err != nil {
					return nil, err
				}
			}
		}
	}
	return c.objects, nil
}
