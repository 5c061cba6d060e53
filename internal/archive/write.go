// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"errors"
	"fmt"
	"io"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Writer writes the chain of a run. The same run and steps produce the same bytes.
type Writer struct {
	out  io.Writer
	seq  int
	prev string
	buf  []byte
	held Manifest
}

// NewWriter begins a chain with the run.
func NewWriter(out io.Writer, run *v1alpha1.MotorRun) (*Writer, error) {
	object, err := encodeRun(run)
	if err != nil {
		return nil, err
	}
	w := &Writer{out: out, prev: Genesis, held: Manifest{
		Namespace: run.Namespace, Name: run.Name, UID: string(run.UID), Run: object, Steps: map[string]string{},
	}}
	return w, w.write(KindRun, run.Name, object)
}

// Step adds a step. Steps come in the order of attempt and index.
func (w *Writer) Step(step *v1alpha1.MotorStep) error {
	if len(w.held.Steps) == MaxSteps {
		return errors.New("a chain has no room for more steps")
	}
	object, err := encodeStep(step)
	if err != nil {
		return err
	}
	w.held.Steps[step.Name] = digestOf(object)
	return w.write(KindStep, step.Name, object)
}

// Close ends the chain and returns its content.
func (w *Writer) Close() (Manifest, error) {
	object, err := encode(closing{Steps: len(w.held.Steps), Head: w.prev})
	if err != nil {
		return Manifest{}, err
	}
	if err := w.write(KindEnd, "", object); err != nil {
		return Manifest{}, err
	}
	w.held.Head = w.prev
	return w.held, nil
}

func (w *Writer) write(kind, name string, object []byte) error {
	w.seq++
	w.buf, w.prev = appendLine(w.buf[:0], w.seq, w.prev, kind, object)
	if len(w.buf) > MaxLine {
		return fmt.Errorf("%s %s takes %d bytes, and a line has at most %d", kind, name, len(w.buf), MaxLine)
	}
	if _, err := w.out.Write(w.buf); err != nil {
		return fmt.Errorf("write line %d: %w", w.seq, err)
	}
	return nil
}
