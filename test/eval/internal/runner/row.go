// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"motorcortex.dev/motorcortex/test/eval/internal/judge"
	"motorcortex.dev/motorcortex/test/eval/internal/report"
	"motorcortex.dev/motorcortex/test/eval/internal/task"
)

const rowFile = "result.json"

// readRow returns the row of a task and side that is there already. One with an error is made again.
func readRow(dir string) (report.Row, bool, error) {
	var row report.Row
	text, err := os.ReadFile(filepath.Join(dir, rowFile))
	if errors.Is(err, fs.ErrNotExist) {
		return row, false, nil
	}
	if err != nil {
		return row, false, err
	}
	if err := json.Unmarshal(text, &row); err != nil {
		return row, false, fmt.Errorf("%s: %w", filepath.Join(dir, rowFile), err)
	}
	return row, row.Error == "", nil
}

func writeRow(dir string, row report.Row) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(row, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, rowFile), append(text, '\n'), 0o644)
}

// Rows reads what an evaluation came to so far.
func Rows(out string, tasks []*task.Task) ([]report.Row, error) {
	var rows []report.Row
	for _, t := range tasks {
		for _, side := range report.Sides {
			row, _, err := readRow(filepath.Join(out, t.Name, string(side)))
			if err != nil {
				return nil, err
			}
			if row.Task != "" {
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// judged puts the verdict into a row.
func judged(row *report.Row, o judge.Outcome, j judge.Judgement) {
	row.Claim, row.Reason, row.Verdict, row.Problems = string(o.Claim), o.Reason, string(j.Verdict), j.Problems
}

// Rejudge puts a new verdict into the row that the folder of an outcome has, if it has one: checks were mended, and what was done stays.
func Rejudge(dir string, o judge.Outcome, j judge.Judgement) error {
	row, found, err := readRow(dir)
	if err != nil || !found {
		return err
	}
	judged(&row, o, j)
	return writeRow(dir, row)
}
