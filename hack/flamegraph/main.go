// SPDX-License-Identifier: Apache-2.0

// Command flamegraph draws the call stacks of a profile as a picture that needs no script and no other file:
//
//	go tool pprof -traces cpu.pprof | go run ./hack/flamegraph -title "a run" >picture.svg
//
// A box is a function, as wide as the share of the samples in which it or a function that it called was running. The boxes on it are those
// that it called.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "flamegraph:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("flamegraph", flag.ContinueOnError)
	title := flags.String("title", "where the time goes", "line above the picture")
	under := flags.String("under", "", "function that the picture begins with, such as motorloop.(*Loop).Run; samples outside of it are left out")
	least := flags.Float64("least", 0.5, "percent that a function must have to be drawn")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *least <= 0 || *least > 100 {
		return errors.New("-least must be above 0 and at most 100")
	}
	root, err := readTraces(in, *under)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	draw(w, root, *title, *least)
	return w.Flush()
}
