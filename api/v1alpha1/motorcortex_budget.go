// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Amount is an amount of money as a decimal number, with at most nine digits before the point and nine after it. It is never negative.
// +kubebuilder:validation:MaxLength=19
// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]{0,8})(\.[0-9]{1,9})?$`
type Amount string

// Currency is the code of a currency after ISO 4217.
// +kubebuilder:validation:MaxLength=3
// +kubebuilder:validation:Pattern=`^[A-Z]{3}$`
type Currency string

// BudgetAmount is a number of tokens, an amount of money, or both.
// +kubebuilder:validation:XValidation:rule="has(self.tokens) || has(self.cost)",message="tokens, cost or both are needed"
type BudgetAmount struct {
	// tokens of requests and answers together.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000000
	// +optional
	Tokens *int64 `json:"tokens,omitempty"`
	// cost in the currency of the MotorCortex, such as "0.50".
	// +optional
	Cost *Amount `json:"cost,omitempty"`
}

// Budget says what models cost, and bounds what the runs of a namespace may spend on them. Each bound is looked at before a model is asked. A call counts with its
// request and the longest answer until its usage is known.
// +kubebuilder:validation:XValidation:rule="has(self.currency) || !(has(self.prices) && self.prices.size() > 0 || has(self.perRun) && has(self.perRun.cost) || has(self.perDay) && has(self.perDay.cost) || has(self.perMonth) && has(self.perMonth.cost) || has(self.perRequester) && has(self.perRequester.cost))",fieldPath=".currency",message="prices and costs need a currency"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.currency) || has(self.currency) && self.currency == oldSelf.currency",fieldPath=".currency",message="currency never changes, because sums in two currencies mean nothing: take budget out, and set it again"
type Budget struct {
	// currency of all prices and costs, such as EUR.
	// +optional
	Currency Currency `json:"currency,omitempty"`
	// prices of models. A model without a price costs nothing that is known; where a bound of cost applies, it is not asked.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=model
	// +optional
	Prices []ModelPrice `json:"prices,omitempty"`
	// perRun is the most that one run may spend. A run can narrow it with spec.budget.
	// +optional
	PerRun *BudgetAmount `json:"perRun,omitempty"`
	// perDay is the most that all runs may spend in a day of UTC.
	// +optional
	PerDay *BudgetAmount `json:"perDay,omitempty"`
	// perMonth is the most that all runs may spend in a month of UTC.
	// +optional
	PerMonth *BudgetAmount `json:"perMonth,omitempty"`
	// perRequester is the most that the runs of one requester may spend in a day of UTC.
	// +optional
	PerRequester *BudgetAmount `json:"perRequester,omitempty"`
	// hard keeps people from raising perDay and perMonth for a run that has reached one of them: runs wait until the day or the month is over, or the MotorCortex is
	// changed.
	// +optional
	Hard bool `json:"hard,omitempty"`
	// maxOutputTokens is how many tokens an answer is taken to have at most when its call is weighed. An answer that is longer counts with what it has.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	// +default=4096
	// +optional
	MaxOutputTokens int32 `json:"maxOutputTokens,omitempty"`
}

// ModelPrice is what a model costs, for each million of tokens.
type ModelPrice struct {
	// model is the name that spec.models, or spec.model of a run, has for it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Model string `json:"model"`
	// input is the price of a million tokens of requests.
	// +required
	Input Amount `json:"input"`
	// cachedInput is the price of a million tokens of requests that the endpoint had in its cache: that of input if unset.
	// +optional
	CachedInput *Amount `json:"cachedInput,omitempty"`
	// output is the price of a million tokens of answers.
	// +required
	Output Amount `json:"output"`
}

// BudgetStatus is what the runs of a namespace have spent. It is kept while one of perDay, perMonth and perRequester is set. What a run has spent by itself is in
// its own status.
type BudgetStatus struct {
	// currency of the costs. With another one the sums begin anew.
	// +optional
	Currency Currency `json:"currency,omitempty"`
	// day is the latest day of UTC in which a run spent something.
	// +optional
	Day *BudgetPeriod `json:"day,omitempty"`
	// month is the latest month of UTC in which a run spent something.
	// +optional
	Month *BudgetPeriod `json:"month,omitempty"`
	// requesters have an entry each for what their runs spent in the day. If there are too many, the others share the entry "*".
	// +kubebuilder:validation:MaxItems=257
	// +listType=map
	// +listMapKey=name
	// +optional
	Requesters []RequesterBudget `json:"requesters,omitempty"`
	// open are the shares of runs that ask a model now. They are part of all sums, and what a run did not use of its share is taken out when it pauses.
	// +kubebuilder:validation:MaxItems=1024
	// +listType=map
	// +listMapKey=runUID
	// +optional
	Open []BudgetShare `json:"open,omitempty"`
}

// BudgetPeriod is what was spent in a day or a month.
type BudgetPeriod struct {
	// period is the day, as in 2026-11-27, or the month, as in 2026-11.
	// +kubebuilder:validation:MaxLength=10
	// +required
	Period string `json:"period"`
	// tokens that were spent or are reserved.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Tokens int64 `json:"tokens,omitempty"`
	// cost that was spent or is reserved.
	// +optional
	Cost Amount `json:"cost,omitempty"`
	// raises are what people added to the bound in this period.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Raises []BudgetRaise `json:"raises,omitempty"`
}

// RequesterBudget is what the runs of one requester spent in a day.
type RequesterBudget struct {
	// name of the requester, or the hash of a name that is too long or cannot be shown.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +required
	Name string `json:"name"`
	// tokens that were spent or are reserved.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Tokens int64 `json:"tokens,omitempty"`
	// cost that was spent or is reserved.
	// +optional
	Cost Amount `json:"cost,omitempty"`
	// raises are what people added to the bound in this day.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Raises []BudgetRaise `json:"raises,omitempty"`
}

// BudgetRaise is what a person added to a bound.
type BudgetRaise struct {
	// runUID of the run that asked.
	// +kubebuilder:validation:MaxLength=64
	// +required
	RunUID string `json:"runUID"`
	// id of the ask.
	// +kubebuilder:validation:MaxLength=64
	// +required
	ID string `json:"id"`
	// tokens that were added.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Tokens int64 `json:"tokens,omitempty"`
	// cost that was added.
	// +optional
	Cost Amount `json:"cost,omitempty"`
}

// BudgetShare is what a run may spend before it asks for more.
type BudgetShare struct {
	// runUID of the run.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	RunUID string `json:"runUID"`
	// runName of the run.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RunName string `json:"runName,omitempty"`
	// epoch of the claim on the run under which the share was taken.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Epoch int64 `json:"epoch,omitempty"`
	// requester is the entry of requesters that the run counts for.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Requester string `json:"requester,omitempty"`
	// settledTokens is how many tokens of the run's steps the sums have in them.
	// +kubebuilder:validation:Minimum=0
	// +optional
	SettledTokens int64 `json:"settledTokens,omitempty"`
	// settledCost is which cost of the run's steps the sums have in them.
	// +optional
	SettledCost Amount `json:"settledCost,omitempty"`
	// reservedTokens are the tokens of the share.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ReservedTokens int64 `json:"reservedTokens,omitempty"`
	// reservedCost is the cost of the share.
	// +optional
	ReservedCost Amount `json:"reservedCost,omitempty"`
	// callTokens are the most tokens of one call of the share. They count as spent if the worker ended in the middle of a call.
	// +kubebuilder:validation:Minimum=0
	// +optional
	CallTokens int64 `json:"callTokens,omitempty"`
	// callCost is the most that one call of the share costs.
	// +optional
	CallCost Amount `json:"callCost,omitempty"`
	// reservationTime is when the share was taken.
	// +optional
	ReservationTime metav1.Time `json:"reservationTime,omitempty,omitzero"`
}

// BudgetAsk is the ask of a run that has reached a bound which a person can raise.
type BudgetAsk struct {
	// id to answer to.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	ID string `json:"id"`
	// raiseBy is the amount that is proposed.
	// +required
	RaiseBy BudgetAmount `json:"raiseBy"`
}
