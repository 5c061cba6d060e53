// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestThePresetsAreTheTablesOfTheGuide(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		energy v1alpha1.Energy
		kind   v1alpha1.EnergyKind
		want   Row
	}{
		"oneshot":               {v1alpha1.Energy{}, v1alpha1.EnergyOneshot, Row{Base: 50_000, Minimum: 50_000}},
		"oneshot with domains":  {v1alpha1.Energy{}, v1alpha1.EnergyOneshotNetwork, Row{Base: 150_000, Minimum: 300_000}},
		"agentic":               {v1alpha1.Energy{Preset: v1alpha1.EnergyVariable}, v1alpha1.EnergyAgentic, Row{100_000, 5, 10_000, 300_000}},
		"browser":               {v1alpha1.Energy{}, v1alpha1.EnergyAgenticBrowser, Row{200_000, 5, 20_000, 500_001}},
		"flat oneshot":          {v1alpha1.Energy{Preset: v1alpha1.EnergyFlat}, v1alpha1.EnergyOneshot, Row{Base: 50_000, Minimum: 50_000}},
		"flat agentic":          {v1alpha1.Energy{Preset: v1alpha1.EnergyFlat}, v1alpha1.EnergyAgentic, Row{Base: 150_000, Minimum: 300_000}},
		"one value is replaced": {v1alpha1.Energy{Drains: []v1alpha1.EnergyDrain{{Kind: v1alpha1.EnergyAgentic, Base: "0.25"}}}, v1alpha1.EnergyAgentic, Row{250_000, 5, 10_000, 300_000}},
		"of another kind none":  {v1alpha1.Energy{Drains: []v1alpha1.EnergyDrain{{Kind: v1alpha1.EnergyAgentic, Base: "0.25"}}}, v1alpha1.EnergyOneshot, Row{Base: 50_000, Minimum: 50_000}},
		"all are, with zeros": {v1alpha1.Energy{Drains: []v1alpha1.EnergyDrain{
			{Kind: v1alpha1.EnergyAgentic, Base: "0", FreeIterations: new(int32(0)), PerIteration: "0", MinimumLevel: "0"},
		}}, v1alpha1.EnergyAgentic, Row{}},
	} {
		if got := RowOf(&tt.energy, tt.kind); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if need := (Row{Base: 400_000, Minimum: 300_000}).Need(); need != 400_000 {
		t.Errorf("a run that drains more than the least level needs %s", need)
	}
}

func TestTheKindOfARunFollowsFromWhatItIsCarriedOutWith(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec v1alpha1.MotorRunSpec
		want v1alpha1.EnergyKind
	}{
		"agentic":              {v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeAgentic, Domains: []v1alpha1.Domain{"example.org"}}, v1alpha1.EnergyAgentic},
		"of no mode":           {v1alpha1.MotorRunSpec{}, v1alpha1.EnergyAgentic},
		"browser":              {v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeAgentic, Tools: []v1alpha1.ToolName{"bash", "browser"}}, v1alpha1.EnergyAgenticBrowser},
		"oneshot":              {v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeOneshot}, v1alpha1.EnergyOneshot},
		"oneshot with domains": {v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeOneshot, Domains: []v1alpha1.Domain{"example.org"}}, v1alpha1.EnergyOneshotNetwork},
		"install":              {v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeInstall, Domains: []v1alpha1.Domain{"example.org"}}, ""},
	} {
		if got := KindOf(&v1alpha1.MotorRun{Spec: tt.spec}); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestACostIsTheBaseAndWhatComesAfterTheFreeAnswers(t *testing.T) {
	t.Parallel()
	agentic := RowOf(&v1alpha1.Energy{}, v1alpha1.EnergyAgentic).Rates(v1alpha1.EnergyAgentic)
	browser := RowOf(&v1alpha1.Energy{}, v1alpha1.EnergyAgenticBrowser).Rates(v1alpha1.EnergyAgenticBrowser)
	oneshot := RowOf(&v1alpha1.Energy{}, v1alpha1.EnergyOneshot).Rates(v1alpha1.EnergyOneshot)
	for name, tt := range map[string]struct {
		rates      v1alpha1.EnergyRates
		iterations int32
		want       string
	}{
		"none":              {agentic, 0, "0.1"},
		"all free":          {agentic, 5, "0.1"},
		"the sixth":         {agentic, 6, "0.11"},
		"a long run":        {agentic, 305, "3.1"},
		"with a browser":    {browser, 8, "0.26"},
		"oneshot":           {oneshot, 1, "0.05"},
		"a negative number": {agentic, -3, "0.1"},
		"the most":          {agentic, 1<<31 - 1, "21474836.52"},
	} {
		if got := Cost(&tt.rates, tt.iterations).String(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	if agentic.PerIteration != "0.01" || oneshot.PerIteration != "" || BaseOf(&oneshot) != 50_000 {
		t.Errorf("recorded are %+v and %+v", agentic, oneshot)
	}
}
