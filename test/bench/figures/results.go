// SPDX-License-Identifier: Apache-2.0

package figures

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// ErrMissed is returned if everything was measured and a figure is not as it must be.
var ErrMissed = errors.New("a figure misses its bound")

// Results is where a program gets earlier figures from, and where it puts its own.
type Results struct {
	// File is added to, "" for none. Several programs write to the same one.
	File string
	// CompareTo is the file with earlier figures, "" for none.
	CompareTo string
	// Machine is a text about the machine, for the file.
	Machine string

	before *Report
}

// Flags gives a program the flags -json, -compare and -machine.
func (r *Results) Flags(flags *flag.FlagSet) {
	flags.StringVar(&r.File, "json", "", "file to write the figures to as well; figures of other programs in it stay")
	flags.StringVar(&r.CompareTo, "compare", "", "file with earlier figures; ratios that are worse beyond noise are an error")
	flags.StringVar(&r.Machine, "machine", "", "text about the machine, for the file")
}

// Open reads the earlier figures. It comes before the measurement: they may be in the file that is written, and a wrong name must not cost a
// measurement.
func (r *Results) Open() (err error) {
	if r.CompareTo != "" {
		r.before, err = Read(r.CompareTo)
	}
	return err
}

// Put shows the figures of a program, adds them to the file, and returns ErrMissed if one of them is not as it must be.
func (r *Results) Put(out io.Writer, report Report) error {
	report.Date, report.Machine = time.Now().UTC().Format(time.DateOnly), r.Machine
	fmt.Fprint(out, report.Table())
	if r.File != "" {
		if err := report.addTo(r.File); err != nil {
			return err
		}
	}
	missed := report.Missed()
	if r.before != nil {
		missed = append(missed, report.WorseThan(r.before)...)
	}
	for _, m := range missed {
		fmt.Fprintln(out, m)
	}
	if len(missed) > 0 {
		return ErrMissed
	}
	return nil
}

// addTo writes a report to a file as JSON, with the figures of it that the report has not.
func (r *Report) addTo(file string) error {
	whole := *r
	switch there, err := Read(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		there.Figures = slices.DeleteFunc(there.Figures, func(f Figure) bool {
			return slices.ContainsFunc(r.Figures, func(own Figure) bool { return own.Name == f.Name })
		})
		there.Rows = slices.DeleteFunc(there.Rows, func(o Row) bool {
			return slices.ContainsFunc(r.Rows, func(own Row) bool { return own.Number == o.Number && own.Name == o.Name })
		})
		whole.Rows = slices.Concat(there.Rows, r.Rows)
		whole.Notes = slices.Concat(there.Notes, r.Notes)
		whole.Figures = slices.Concat(there.Figures, r.Figures)
		if len(r.Path) == 0 {
			whole.Path, whole.Warm = there.Path, there.Warm
		}
	}
	content, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644) //nolint:gosec // The figures are for everybody.
}

// Read reads the file of earlier figures.
func Read(file string) (*Report, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var r Report
	if err := json.Unmarshal(content, &r); err != nil {
		return nil, fmt.Errorf("%s has no figures: %w", file, err)
	}
	return &r, nil
}
