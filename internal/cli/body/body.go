// SPDX-License-Identifier: Apache-2.0

// Package body has the verb that shows the energy of a namespace.
package body

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/energy"
)

// Body is the energy of a namespace, as programs get it. All but the namespace is left out where energy is not configured.
type Body struct {
	Namespace string `json:"namespace"`
	// Level is that of now.
	Level               v1alpha1.EnergyLevel `json:"level,omitempty"`
	RegenerationPerHour string               `json:"regenerationPerHour,omitempty"`
	// FullTime is when the body is full, if nothing drains it.
	FullTime  *metav1.Time             `json:"fullTime,omitempty"`
	WhenTired v1alpha1.WhenTired       `json:"whenTired,omitempty"`
	Kinds     []Kind                   `json:"kinds,omitempty"`
	Open      []v1alpha1.EnergyOpen    `json:"open,omitempty"`
	Recent    []v1alpha1.EnergySettled `json:"recent,omitempty"`
}

// Kind is what a kind of run drains, and when it is possible.
type Kind struct {
	v1alpha1.EnergyRates `json:",inline"`

	MinimumLevel v1alpha1.EnergyLevel `json:"minimumLevel"`
	// Possible reports whether the level is enough now, PossibleTime since or from when. Without the time it never will be.
	Possible     bool         `json:"possible"`
	PossibleTime *metav1.Time `json:"possibleTime,omitempty"`
}

// New is the verb.
func New(s verb.Streams, connect cluster.Connect, now func() time.Time) *cobra.Command {
	cmd := &cobra.Command{
		Use: "body", Short: "Show the energy of the namespace.", Args: verb.Args(),
		Long: `Show the energy of the namespace: the level, how fast it comes back, which kinds of runs are possible, and what drained it.`,
	}
	var format output.Format
	format.BindOnly(cmd, "json or yaml, for programs", output.JSON, output.YAML)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, namespace, err := connect()
		if err != nil {
			return err
		}
		found, err := cortex.Get(cmd.Context(), c, namespace)
		if err != nil {
			return err
		}
		b := of(found, namespace, now())
		if format != output.ForPeople {
			return output.Value(s.Out, format, b)
		}
		if found.Spec.Energy == nil {
			fmt.Fprintf(s.Err, "Runs of the namespace %s drain no energy: its MotorCortex \"default\" has no spec.energy.\n", namespace)
			return nil
		}
		write(s.Out, b, now())
		return nil
	}
	return cmd
}

// of returns the energy of a MotorCortex at now. One whose status is not written yet has its initial level.
func of(c *v1alpha1.MotorCortex, namespace string, now time.Time) Body {
	b := Body{Namespace: namespace}
	if c.Spec.Energy == nil {
		return b
	}
	st := energy.Observe(c.Spec.Energy, c.Status.Energy, now)
	b.Level, b.RegenerationPerHour, b.WhenTired = st.Level, st.RegenerationPerHour, c.Spec.Energy.WhenTired
	b.Open, b.Recent = st.Open, st.Recent
	if at := energy.EnoughAt(st, energy.Full); at.After(now) {
		b.FullTime = new(metav1.NewTime(at))
	}
	for _, p := range st.Possible {
		b.Kinds = append(b.Kinds, Kind{
			EnergyRates: energy.RowOf(c.Spec.Energy, p.Kind).Rates(p.Kind), MinimumLevel: p.MinimumLevel,
			Possible: energy.Covers(st, p.MinimumLevel), PossibleTime: p.Time,
		})
	}
	return b
}

// barCells is the width of the bar.
const barCells = 20

// bar shows a level. A cell is filled if all of it is there.
func bar(level energy.Amount) string {
	full := int(level * barCells / energy.Full)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barCells-full) + "]"
}

// rounded is a level in hundredths, rounded down: a level that is not enough yet must not look as if it were.
func rounded(level energy.Amount) string {
	hundredths := level * 100 / energy.Full
	return fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100)
}

func write(w io.Writer, b Body, now time.Time) {
	level, _ := energy.Parse(string(b.Level)) // It was formatted a moment ago.
	fmt.Fprintf(w, "%s %s of 1, +%s per hour%s\n", bar(level), rounded(level), b.RegenerationPerHour, fullIn(b, level, now))
	becomes := "waits"
	if b.WhenTired == v1alpha1.TiredReject {
		becomes = "ends at once"
	}
	fmt.Fprintf(w, "A run for which it is too low %s (whenTired: %s).\n\n", becomes, b.WhenTired)
	var rows [][]string
	for i := range b.Kinds {
		k := &b.Kinds[i]
		rows = append(rows, []string{string(k.Kind), costs(&k.EnergyRates), string(k.MinimumLevel), possible(k, now)})
	}
	show.Table(w, []string{"KIND", "DRAINS", "NEEDS", "POSSIBLE"}, rows)
	if len(b.Open)+len(b.Recent) == 0 {
		return
	}
	fmt.Fprintln(w)
	rows = nil
	for i := range b.Open {
		o := &b.Open[i]
		rows = append(rows, []string{show.Line(o.RunName, maxName), string(o.Kind), string(o.Base), "not settled", show.Since(now, o.Time)})
	}
	for i := range b.Recent {
		r := &b.Recent[i]
		rows = append(rows, []string{show.Line(r.RunName, maxName), string(r.Kind), string(r.Base), string(r.Consumed), show.Since(now, r.Time)})
	}
	show.Table(w, []string{"DRAINED BY", "KIND", "BASE", "ALTOGETHER", "AGO"}, rows)
}

// maxName is the most bytes of a run's name in the table.
const maxName = 63

func fullIn(b Body, level energy.Amount, now time.Time) string {
	switch {
	case level >= energy.Full:
		return ", full"
	case b.FullTime == nil:
		return ""
	}
	return ", full in " + show.Until(now, *b.FullTime)
}

func costs(r *v1alpha1.EnergyRates) string {
	if r.PerIteration == "" {
		return string(r.Base)
	}
	return fmt.Sprintf("%s, and %s per answer after %d", r.Base, r.PerIteration, r.FreeIterations)
}

func possible(k *Kind, now time.Time) string {
	switch {
	case k.Possible:
		return "now"
	case k.PossibleTime == nil:
		return "never"
	}
	return "in " + show.Until(now, *k.PossibleTime)
}
