// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ConcurrencyPolicy is what becomes of a start while runs of the schedule have not ended.
// +kubebuilder:validation:Enum=Allow;Forbid;Replace
type ConcurrencyPolicy string

const (
	// ConcurrencyAllow: runs of the schedule take place beside each other.
	ConcurrencyAllow ConcurrencyPolicy = "Allow"
	// ConcurrencyForbid: no run begins while another one has not ended.
	ConcurrencyForbid ConcurrencyPolicy = "Forbid"
	// ConcurrencyReplace: the runs that have not ended are deleted, and the next one begins.
	ConcurrencyReplace ConcurrencyPolicy = "Replace"
)

// CatchUpPolicy is what becomes of starts that did not take place in their minute.
// +kubebuilder:validation:Enum=Last;None
type CatchUpPolicy string

const (
	// CatchUpLast: the last one of them is made up for, unless startingDeadlineSeconds is over.
	CatchUpLast CatchUpPolicy = "Last"
	// CatchUpNone: none of them is.
	CatchUpNone CatchUpPolicy = "None"
)

// MotorScheduleSpec is when runs begin, and which.
// +kubebuilder:validation:XValidation:rule="has(self.runTemplate) != has(self.runTemplateRef)",message="a schedule has one of runTemplate and runTemplateRef"
type MotorScheduleSpec struct {
	// schedule is when runs begin, in the format of cron: five fields for minute, hour, day of the month, month and day of the week, or one of @hourly,
	// @daily, @midnight, @weekly, @monthly, @yearly, @annually, or @every with a duration of a minute at least.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ')",message="the time zone is said by timeZone, not by TZ or CRON_TZ in schedule"
	// +kubebuilder:validation:XValidation:rule="self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|@every [0-9][0-9a-z.]*|[0-9A-Za-z*/,?-]+( +[0-9A-Za-z*/,?-]+){4})$')",message="schedule has the five fields of cron, such as 30 6 * * 1-5, or is @hourly, @daily, @weekly, @monthly, @yearly, or @every with a duration"
	// +required
	Schedule string `json:"schedule"`

	// timeZone is the name of the zone by whose clocks schedule goes, Europe/Berlin for example. Unset, it is UTC.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+){0,2}$`
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() != 'local'",message="timeZone is the name of a zone: the zone of the manager is not the same everywhere"
	// +kubebuilder:validation:XValidation:rule="timestamp('2026-01-01T00:00:00Z').getFullYear(self) > 0",message="timeZone is a name of the time zone database, such as Europe/Berlin"
	// +optional
	TimeZone *string `json:"timeZone,omitempty"`

	// startingDeadlineSeconds is how late a run may begin, after the time that schedule says. A later start is left out. Unset, there is no such limit.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	StartingDeadlineSeconds *int32 `json:"startingDeadlineSeconds,omitempty"`

	// concurrencyPolicy says what becomes of a start while runs of the schedule have not ended: Allow, Forbid or Replace.
	// +default="Allow"
	// +optional
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// suspend lets no run begin. Runs that began go on.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// catchUp says what becomes of starts that did not take place in their minute, because no manager was there, the schedule was suspended, or Forbid kept
	// them waiting: Last makes up for the last one of them, None for none.
	// +default="Last"
	// +optional
	CatchUp CatchUpPolicy `json:"catchUp,omitempty"`

	// successfulRunsHistoryLimit is how many runs that succeeded are kept.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +default=3
	// +optional
	SuccessfulRunsHistoryLimit *int32 `json:"successfulRunsHistoryLimit,omitempty"`

	// failedRunsHistoryLimit is how many runs that ended in any other way are kept.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +default=1
	// +optional
	FailedRunsHistoryLimit *int32 `json:"failedRunsHistoryLimit,omitempty"`

	// runTemplate is the run that begins each time. Its texts are used as they are: parameters are of runTemplateRef.
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.credentials) || !self.spec.credentials.exists(c, has(c.exposeToSandbox) && c.exposeToSandbox)",fieldPath=".spec.credentials",message="a credential of a schedule is bound to hosts: exposeToSandbox is decided for each run"
	// +optional
	RunTemplate *RunTemplate `json:"runTemplate,omitempty"`

	// runTemplateRef names a MotorRunTemplate of the namespace, and gives values for its parameters.
	// +optional
	RunTemplateRef *RunTemplateRef `json:"runTemplateRef,omitempty"`

	// requester is who wrote the schedule last, suspend and the limits of its history aside. Its runs have the rights of that user. Admission fills it in,
	// where the cluster can, and refuses any other.
	// +optional
	Requester *Requester `json:"requester,omitempty"`
}

// RunTemplateRef names a MotorRunTemplate, and gives values for its parameters.
type RunTemplateRef struct {
	// name of the MotorRunTemplate.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// digest is "sha256:…" of the parameters and the runTemplate that are meant. No run begins while the template has others. It can be unset only if the same
	// user wrote the template and the schedule: else who changes the template would have the rights of who wrote the schedule. The condition Ready says
	// the digest.
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	// +optional
	Digest string `json:"digest,omitempty"`
	// parameters are values for parameters of the template.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Parameters []ParameterValue `json:"parameters,omitempty"`
}

// MotorScheduleStatus is what became of the starts of a schedule.
type MotorScheduleStatus struct {
	// observedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// active are runs of the schedule that have not ended, the oldest first. Of more than 64, it has the 64 newest.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Active []ActiveRun `json:"active,omitempty"`
	// lastScheduleTime is the time of schedule that the last run began for. The run may have begun later than that.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
	// lastSuccessfulTime is when a run of the schedule succeeded last.
	// +optional
	LastSuccessfulTime *metav1.Time `json:"lastSuccessfulTime,omitempty"`
	// nextScheduleTime is the time of schedule that the next run is to begin for.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`
	// lastSkipped is the last start that did not take place.
	// +optional
	LastSkipped *SkippedStart `json:"lastSkipped,omitempty"`
	// conditions of the schedule: Ready.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ActiveRun is a run that has not ended.
type ActiveRun struct {
	// name of the MotorRun.
	// +kubebuilder:validation:MaxLength=48
	// +required
	Name string `json:"name"`
	// uid of the MotorRun.
	// +optional
	UID types.UID `json:"uid,omitempty"`
}

// SkipReason says why a start did not take place.
// +kubebuilder:validation:Enum=TooLate;StillActive;Refused
type SkipReason string

const (
	// SkippedTooLate: the time that startingDeadlineSeconds or catchUp leaves was over.
	SkippedTooLate SkipReason = "TooLate"
	// SkippedStillActive: a run of the schedule had not ended, and concurrencyPolicy is Forbid.
	SkippedStillActive SkipReason = "StillActive"
	// SkippedRefused: the run was refused. The condition Ready says why.
	SkippedRefused SkipReason = "Refused"
)

// SkippedStart is a start that did not take place.
type SkippedStart struct {
	// time of schedule that the run would have begun for.
	// +required
	Time metav1.Time `json:"time"`
	// reason why it did not.
	// +required
	Reason SkipReason `json:"reason"`
}

// Condition types of a MotorSchedule.
const (
	// ScheduleReady is True when the next run begins at the time that schedule says.
	ScheduleReady = "Ready"
)

// Reasons of the condition of a MotorSchedule.
const (
	// ReasonScheduled is a reason of Ready=True of a MotorSchedule.
	//
	// Meaning: The next run begins at status.nextScheduleTime.
	//
	// Do: Nothing.
	ReasonScheduled = "Scheduled"

	// ReasonScheduleSuspended is a reason of Ready=False of a MotorSchedule.
	//
	// Meaning: spec.suspend is true.
	//
	// Do: Let it go on with `kubectl motor schedule resume NAME`. With catchUp Last, the last start that was left out takes place then.
	ReasonScheduleSuspended = "ScheduleSuspended"

	// ReasonScheduleInvalid is a reason of Ready=False of a MotorSchedule.
	//
	// Meaning: spec.schedule is no schedule after cron, or spec.timeZone names no time zone.
	//
	// Do: Correct the field that the message names.
	ReasonScheduleInvalid = "ScheduleInvalid"

	// ReasonScheduleNeverFires is a reason of Ready=False of a MotorSchedule.
	//
	// Meaning: There is no such time in the next five years, as with 0 0 30 2 *, the 30th of February.
	//
	// Do: Correct spec.schedule.
	ReasonScheduleNeverFires = "NeverFires"

	// ReasonClockWentBack is a reason of Ready=False of a MotorSchedule.
	//
	// Meaning: status.lastScheduleTime is later than now, because the clock was wrong then or is wrong now. No run begins before that time has passed,
	// so that no start takes place twice.
	//
	// Do: Set the clock. If it was wrong before, create the schedule anew.
	ReasonClockWentBack = "ClockWentBack"

	// ReasonTemplateNotFound is a reason of Ready=False of a MotorSchedule.
	//
	// Meaning: There is no MotorRunTemplate of the name in spec.runTemplateRef.
	//
	// Do: Create it, or correct the name.
	ReasonTemplateNotFound = "TemplateNotFound"

	// ReasonTemplateInvalid is a reason of Ready=False of a MotorSchedule.
	//
	// Meaning: The template and the values for its parameters make no run: a value is missing, is not as the parameter demands, or is for no parameter.
	//
	// Do: Correct what the message names.
	ReasonTemplateInvalid = "TemplateInvalid"

	// ReasonTemplateUnconfirmed is a reason of Ready=False of a MotorSchedule.
	//
	// Meaning: The template is not the one that the writer of the schedule meant: it has another digest than spec.runTemplateRef.digest, or that is unset and
	// another user wrote the template.
	//
	// Do: Look at the template, and put the digest that the message names into spec.runTemplateRef.digest.
	ReasonTemplateUnconfirmed = "TemplateUnconfirmed"

	// ReasonRequesterForbidden is a reason of Ready=False of a MotorSchedule.
	//
	// Meaning: The user in spec.requester may not create MotorRuns, or may not use a Secret of the run any more. Starts are left out meanwhile.
	//
	// Do: Have the right that the message names given to that user, or have another one write the schedule.
	ReasonRequesterForbidden = "RequesterForbidden"

	// ReasonRunRefused is a reason of Ready=False of a MotorSchedule.
	//
	// Meaning: The API server refused the run. If the run itself is wrong, the start is left out. If a quota or a webhook is the cause, it is tried again every minute.
	//
	// Do: Correct what the message names.
	ReasonRunRefused = "RunRefused"

	// ReasonRunNameTaken is a reason of Ready=False of a MotorSchedule.
	//
	// Meaning: Another run has the name of the run that was to begin. The start is left out.
	//
	// Do: Delete that run, or give the schedule another name.
	ReasonRunNameTaken = "RunNameTaken"
)

// MotorSchedule has runs begin at times.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=msched,categories=motor
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="TimeZone",type=string,JSONPath=`.spec.timeZone`
// +kubebuilder:printcolumn:name="Suspend",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.active[*].name`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.lastScheduleTime`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextScheduleTime`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 39",message="the name of a MotorSchedule has at most 39 characters, because the names of its runs begin with it"
type MotorSchedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec MotorScheduleSpec `json:"spec"`
	// +optional
	Status MotorScheduleStatus `json:"status,omitempty,omitzero"`
}

// MotorScheduleList is a list of MotorSchedule.
// +kubebuilder:object:root=true
type MotorScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MotorSchedule `json:"items"`
}
