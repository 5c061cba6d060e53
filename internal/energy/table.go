// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Row is what runs of one kind drain, and the level that they need.
type Row struct {
	// Base is drained when a run is accepted.
	Base Amount
	// Free is how many answers of the model it pays for, PerIteration what each further one drains.
	Free         int32
	PerIteration Amount
	// Minimum is the level from which on a run is accepted.
	Minimum Amount
}

// Need returns the level that a run needs: with less than its base, the body would have less than nothing.
func (r Row) Need() Amount { return max(r.Minimum, r.Base) }

// Kinds are the kinds of runs, in the order in which they are shown.
var Kinds = []v1alpha1.EnergyKind{
	v1alpha1.EnergyOneshot, v1alpha1.EnergyOneshotNetwork, v1alpha1.EnergyAgentic, v1alpha1.EnergyAgenticBrowser,
}

// presets are the tables. A browser needs more than half, so a millionth more.
var presets = map[v1alpha1.EnergyPreset]map[v1alpha1.EnergyKind]Row{
	v1alpha1.EnergyVariable: {
		v1alpha1.EnergyOneshot:        {Base: 50_000, Minimum: 50_000},
		v1alpha1.EnergyOneshotNetwork: {Base: 150_000, Minimum: 300_000},
		v1alpha1.EnergyAgentic:        {Base: 100_000, Free: 5, PerIteration: 10_000, Minimum: 300_000},
		v1alpha1.EnergyAgenticBrowser: {Base: 200_000, Free: 5, PerIteration: 20_000, Minimum: 500_001},
	},
	v1alpha1.EnergyFlat: {
		v1alpha1.EnergyOneshot:        {Base: 50_000, Minimum: 50_000},
		v1alpha1.EnergyOneshotNetwork: {Base: 150_000, Minimum: 300_000},
		v1alpha1.EnergyAgentic:        {Base: 150_000, Minimum: 300_000},
		v1alpha1.EnergyAgenticBrowser: {Base: 150_000, Minimum: 500_001},
	},
}

// RowOf returns what runs of a kind drain.
func RowOf(e *v1alpha1.Energy, kind v1alpha1.EnergyKind) Row {
	table, ok := presets[e.Preset]
	if !ok {
		table = presets[v1alpha1.EnergyVariable]
	}
	row := table[kind]
	for i := range e.Drains {
		d := &e.Drains[i]
		if d.Kind != kind {
			continue
		}
		for _, set := range []struct {
			from v1alpha1.EnergyLevel
			to   *Amount
		}{{d.Base, &row.Base}, {d.PerIteration, &row.PerIteration}, {d.MinimumLevel, &row.Minimum}} {
			if set.from != "" {
				*set.to = of(set.from)
			}
		}
		if d.FreeIterations != nil {
			row.Free = *d.FreeIterations
		}
	}
	return row
}

// browser is the tool that makes a run one with a browser. The API has no such tool yet, so no run can name it.
const browser v1alpha1.ToolName = "browser"

// KindOf returns the kind of a run, "" for one that drains nothing: the operator itself installs the packages of a skill. The run must be the one that is
// carried out, with the tools and domains that it has by its skill.
func KindOf(run *v1alpha1.MotorRun) v1alpha1.EnergyKind {
	switch run.Spec.Mode {
	case v1alpha1.ModeInstall:
		return ""
	case v1alpha1.ModeOneshot:
		if len(run.Spec.Domains) > 0 {
			return v1alpha1.EnergyOneshotNetwork
		}
		return v1alpha1.EnergyOneshot
	case v1alpha1.ModeAgentic:
	}
	if slices.Contains(run.Spec.Tools, browser) {
		return v1alpha1.EnergyAgenticBrowser
	}
	return v1alpha1.EnergyAgentic
}

// Rates returns a row as it is recorded for a run.
func (r Row) Rates(kind v1alpha1.EnergyKind) v1alpha1.EnergyRates {
	rates := v1alpha1.EnergyRates{Kind: kind, Base: level(r.Base), FreeIterations: r.Free}
	if r.PerIteration > 0 {
		rates.PerIteration = level(r.PerIteration)
	}
	return rates
}

// Cost returns what a run costs altogether whose model gave that many answers.
func Cost(rates *v1alpha1.EnergyRates, iterations int32) Amount {
	return of(rates.Base) + Amount(max(0, int64(iterations)-int64(rates.FreeIterations)))*of(rates.PerIteration)
}

// level returns an amount as the API has levels.
func level(a Amount) v1alpha1.EnergyLevel { return v1alpha1.EnergyLevel(min(max(a, 0), Full).String()) }

// BaseOf returns the base of what a run costs.
func BaseOf(rates *v1alpha1.EnergyRates) Amount { return of(rates.Base) }
