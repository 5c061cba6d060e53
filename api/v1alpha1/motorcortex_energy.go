// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Energy bounds how much the runs of a namespace do: each run that is accepted drains it, and it comes back with time.
type Energy struct {
	// initial is the level with which the body begins, when energy is switched on.
	// +default="1"
	// +optional
	Initial EnergyLevel `json:"initial,omitempty"`
	// regenerationPerHour is how much comes back in an hour, from 0 to below 1000. With 0 nothing comes back.
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^[0-9]{1,3}(\.[0-9]{1,6})?$`
	// +default="0.1"
	// +optional
	RegenerationPerHour string `json:"regenerationPerHour,omitempty"`
	// whenTired is what becomes of a run for which the level is too low: it waits until there is enough (Queue), or ends at once (Reject).
	// +default="Queue"
	// +optional
	WhenTired WhenTired `json:"whenTired,omitempty"`
	// preset is the table of what runs drain. Variable: Oneshot 0.05, with domains 0.15; Agentic 0.1, with a browser 0.2, and from the sixth
	// answer of the model on 0.01 or 0.02 for each. Flat: Oneshot 0.05, with domains 0.15; Agentic 0.15, whatever it does.
	// +default="Variable"
	// +optional
	Preset EnergyPreset `json:"preset,omitempty"`
	// drains replace values of the preset, for each kind of run that they name.
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=kind
	// +optional
	Drains []EnergyDrain `json:"drains,omitempty"`
}

// EnergyLevel is a level from 0 to 1, as a decimal string with six places at most.
// +kubebuilder:validation:MaxLength=8
// +kubebuilder:validation:Pattern=`^(0(\.[0-9]{1,6})?|1(\.0{1,6})?)$`
type EnergyLevel string

// EnergyAmount is an amount of energy of at least 0, as a decimal string with six places at most. A full body has 1.
// +kubebuilder:validation:MaxLength=17
// +kubebuilder:validation:Pattern=`^[0-9]{1,10}(\.[0-9]{1,6})?$`
type EnergyAmount string

// WhenTired is what becomes of a run for which the level is too low.
// +kubebuilder:validation:Enum=Queue;Reject
type WhenTired string

const (
	TiredQueue  WhenTired = "Queue"
	TiredReject WhenTired = "Reject"
)

// EnergyPreset is a table of what runs drain.
// +kubebuilder:validation:Enum=Flat;Variable
type EnergyPreset string

const (
	// EnergyFlat: a run drains the same whatever it does.
	EnergyFlat EnergyPreset = "Flat"
	// EnergyVariable: an Agentic run drains more the more answers its model gives.
	EnergyVariable EnergyPreset = "Variable"
)

// EnergyKind is a kind of runs that drain the same.
// +kubebuilder:validation:Enum=Oneshot;OneshotNetwork;Agentic;AgenticBrowser
type EnergyKind string

const (
	// EnergyOneshot: a run of mode Oneshot without domains.
	EnergyOneshot EnergyKind = "Oneshot"
	// EnergyOneshotNetwork: a run of mode Oneshot with domains.
	EnergyOneshotNetwork EnergyKind = "OneshotNetwork"
	// EnergyAgentic: a run of mode Agentic.
	EnergyAgentic EnergyKind = "Agentic"
	// EnergyAgenticBrowser: a run of mode Agentic that has a browser. There is no such tool yet.
	EnergyAgenticBrowser EnergyKind = "AgenticBrowser"
)

// EnergyDrain is what runs of one kind drain. Fields that are unset are those of the preset.
type EnergyDrain struct {
	// kind of the runs.
	// +required
	Kind EnergyKind `json:"kind"`
	// base is drained when a run is accepted.
	// +optional
	Base EnergyLevel `json:"base,omitempty"`
	// freeIterations is how many answers of the model the base pays for.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	FreeIterations *int32 `json:"freeIterations,omitempty"`
	// perIteration is drained for each further answer, when the run has ended.
	// +optional
	PerIteration EnergyLevel `json:"perIteration,omitempty"`
	// minimumLevel is the level from which on such a run is accepted. It never begins with less than its base.
	// +optional
	MinimumLevel EnergyLevel `json:"minimumLevel,omitempty"`
}

// EnergyStatus is the energy of a namespace, and what drained it. It is written when a run is accepted, when one has ended, when another kind of
// run becomes possible, and when spec.energy changes.
type EnergyStatus struct {
	// level at observedTime.
	// +required
	Level EnergyLevel `json:"level"`
	// observedTime is up to when regeneration is in level. What came back since then is not. It never goes back, even if the clock does, but
	// for one that is further ahead than the time of a whole regeneration.
	// +required
	ObservedTime metav1.MicroTime `json:"observedTime"`
	// regenerationPerHour is how much comes back in an hour from observedTime on.
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^[0-9]{1,3}(\.[0-9]{1,6})?$`
	// +required
	RegenerationPerHour string `json:"regenerationPerHour"`
	// possible says from when on the level is enough for each kind of run, if nothing else drains it.
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=kind
	// +optional
	Possible []EnergyPossible `json:"possible,omitempty"`
	// open are the runs that have drained their base and are not settled: they have not ended, or have ended just now.
	// +kubebuilder:validation:MaxItems=512
	// +listType=map
	// +listMapKey=runUID
	// +optional
	Open []EnergyOpen `json:"open,omitempty"`
	// recent are the runs that were settled last, the latest first.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=runUID
	// +optional
	Recent []EnergySettled `json:"recent,omitempty"`
}

// EnergyPossible says from when on a kind of run is possible.
type EnergyPossible struct {
	// kind of the runs.
	// +required
	Kind EnergyKind `json:"kind"`
	// minimumLevel is the level that they need.
	// +required
	MinimumLevel EnergyLevel `json:"minimumLevel"`
	// time from which on the level is enough, unset if it never will be.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// EnergyOpen is a run that has drained its base and is not settled.
type EnergyOpen struct {
	// runUID is the UID of the run. It drains only once.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	RunUID string `json:"runUID"`
	// runName is the name of the run.
	// +kubebuilder:validation:MaxLength=253
	// +required
	RunName string `json:"runName"`
	// time at which it was drained.
	// +required
	Time metav1.Time `json:"time"`
	// rates are those of its time: a change of spec.energy does not change what the run costs.
	EnergyRates `json:",inline"`
}

// EnergyRates are what one run drains.
type EnergyRates struct {
	// kind of the run.
	// +required
	Kind EnergyKind `json:"kind"`
	// base that was drained when the run was accepted.
	// +required
	Base EnergyLevel `json:"base"`
	// freeIterations is how many answers of the model the base pays for.
	// +kubebuilder:validation:Minimum=0
	// +optional
	FreeIterations int32 `json:"freeIterations,omitempty"`
	// perIteration is drained for each further answer, when the run has ended; unset means nothing.
	// +optional
	PerIteration EnergyLevel `json:"perIteration,omitempty"`
}

// EnergySettled is a run that was settled.
type EnergySettled struct {
	// runUID is the UID of the run.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	RunUID string `json:"runUID"`
	// runName is the name of the run.
	// +kubebuilder:validation:MaxLength=253
	// +required
	RunName string `json:"runName"`
	// kind of the run.
	// +required
	Kind EnergyKind `json:"kind"`
	// base that was drained when it was accepted.
	// +required
	Base EnergyLevel `json:"base"`
	// consumed is what it cost altogether. It is 0 if the run ended before it was accepted: the base was given back.
	// +required
	Consumed EnergyAmount `json:"consumed"`
	// time at which it was settled.
	// +required
	Time metav1.Time `json:"time"`
}

// RunEnergy is the energy that a run costs.
type RunEnergy struct {
	EnergyRates `json:",inline"`
	// consumed is what the run cost altogether, unset until it has ended.
	// +optional
	Consumed EnergyAmount `json:"consumed,omitempty"`
}
