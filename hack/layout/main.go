// SPDX-License-Identifier: Apache-2.0

// Command layout checks how the repository is laid out, as CONTRIBUTING.md says it is: a package has one subject and so at most 20 production
// files, a step of the controller has a test file of its name, and the words that the style rules out do not come back. It reports definitions
// that live away from everything that uses them, which fails nothing.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the repository")
	report := flag.Bool("lodgers", false, "report definitions that live away from everything that uses them")
	flag.Parse()
	if err := run(*root, *report); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string, report bool) error {
	if report {
		found, err := lodgers(root)
		for _, l := range found {
			fmt.Println(l)
		}
		return err
	}
	var complaints []string
	for _, check := range []func(string) ([]string, error){crowded, untested, prose} {
		found, err := check(root)
		if err != nil {
			return err
		}
		complaints = append(complaints, found...)
	}
	for _, c := range complaints {
		fmt.Fprintln(os.Stderr, c)
	}
	if len(complaints) > 0 {
		return fmt.Errorf("%d rules of the layout are broken", len(complaints))
	}
	return nil
}
