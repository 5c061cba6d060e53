// SPDX-License-Identifier: Apache-2.0

package toolapi

import "time"

// PathBackground is for the background programs of bash calls. GET lists them. POST ends the running ones, and prevents
// new ones until the next call begins.
const PathBackground = "/v1/background"

// MaxPrograms is how many programs a BackgroundResponse has: all running ones, and the latest of those that ended. It is more
// than the calls of two answers can start, so a manager that looks after each call misses none.
const MaxPrograms = 64

// BackgroundRequest ends the programs in the background.
type BackgroundRequest struct {
	// Reason is one word, which is recorded for the programs that this ends.
	Reason string `json:"reason"`
	// MCP also ends the programs of MCP servers; one that serves a call ends when the call has its result. They start again with the next
	// call of them or the next MCPRequest, and the next result of each reports it. A tool server that does not know the field lets them run.
	MCP bool `json:"mcp,omitempty" wire:"optional"`
}

// MaxStopReason is the most bytes of BackgroundRequest.Reason.
const MaxStopReason = 64

// Reasons for which programs in the background are ended.
const (
	// StoppedIsolationLost: a NetworkPolicy of the sandbox was changed or gone.
	StoppedIsolationLost = "IsolationLost"
	// StoppedSuspended: the run was suspended.
	StoppedSuspended = "Suspended"
	// StoppedAwaitingInput: the run waited for a person for longer than it may take itself.
	StoppedAwaitingInput = "AwaitingInput"
	// StoppedWayOut: a person allowed the sandbox egress that the program was not started for.
	StoppedWayOut = "WayOutGranted"
	// StoppedFinished: the attempt is over.
	StoppedFinished = "AttemptFinished"
)

// BackgroundResponse is the state of the background programs, the oldest first, MaxPrograms at most.
type BackgroundResponse struct {
	Programs []Program `json:"programs"`
}

// Program is a background program of a call, with all its child processes.
type Program struct {
	// Call is the id of the call.
	Call  string       `json:"call"`
	State ProgramState `json:"state"`
	// ExitCode is the exit status of the program: 0 if it succeeded, 128 plus the number of the signal if a signal ended it.
	ExitCode int32 `json:"exitCode,omitempty"`
	// Reason is why a Stopped one was ended: the reason of the BackgroundRequest, or StoppedIsolationLost.
	Reason    string    `json:"reason,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	// EndedAt is zero while the program runs, and if it is Lost.
	EndedAt time.Time `json:"endedAt,omitzero"`
}

// ProgramState is how far a program in the background got.
type ProgramState string

const (
	// ProgramRunning: it, or something that it started, runs.
	ProgramRunning ProgramState = "Running"
	// ProgramSucceeded: it ended with exit status 0.
	ProgramSucceeded ProgramState = "Succeeded"
	// ProgramFailed: it ended otherwise, or a program of the sandbox or its time limit ended it.
	ProgramFailed ProgramState = "Failed"
	// ProgramStopped: it was ended from outside of the sandbox.
	ProgramStopped ProgramState = "Stopped"
	// ProgramLost: the tool server ended, and the program with it. Its progress is unknown.
	ProgramLost ProgramState = "Lost"
)
