// SPDX-License-Identifier: Apache-2.0

package toolapi

import "time"

// PathBackground is for the programs that bash calls left in the background. GET lists them. POST ends those that run, and lets
// none start until the next call begins.
const PathBackground = "/v1/background"

// MaxPrograms is how many programs a BackgroundResponse names: all that run, and of the others those that ended last. It is more
// than the calls of two answers can leave, so a manager that looks after each call misses none.
const MaxPrograms = 64

// BackgroundRequest ends the programs in the background.
type BackgroundRequest struct {
	// Reason is one word, which is told of the programs that this ends.
	Reason string `json:"reason"`
	// MCP ends the programs of MCP servers too, that of a server in a call when the call has its result. They begin again with the next
	// call of them or the next MCPRequest, and the next result of each says so. A tool server that does not know the field lets them run.
	MCP bool `json:"mcp,omitempty" wire:"optional"`
}

// MaxStopReason is the most bytes of BackgroundRequest.Reason.
const MaxStopReason = 64

// Reasons for which programs in the background are ended.
const (
	// StoppedIsolationLost: the walls around the sandbox had a hole.
	StoppedIsolationLost = "IsolationLost"
	// StoppedSuspended: the run was suspended.
	StoppedSuspended = "Suspended"
	// StoppedAwaitingInput: the run waited for a person for longer than it may take itself.
	StoppedAwaitingInput = "AwaitingInput"
	// StoppedWayOut: a person gave the sandbox a way out that the program was not started for.
	StoppedWayOut = "WayOutGranted"
	// StoppedFinished: the attempt is over.
	StoppedFinished = "AttemptFinished"
)

// BackgroundResponse says what became of the programs in the background, the oldest first, MaxPrograms at most.
type BackgroundResponse struct {
	Programs []Program `json:"programs"`
}

// Program is one that a call left in the background, with all that it started.
type Program struct {
	// Call is the id of the call.
	Call  string       `json:"call"`
	State ProgramState `json:"state"`
	// ExitCode is how the program ended by itself: 0 of one that succeeded, 128 and the number of the signal of one that a signal ended.
	ExitCode int32 `json:"exitCode,omitempty"`
	// Reason is why a Stopped one was ended: what BackgroundRequest says, or StoppedIsolationLost.
	Reason    string    `json:"reason,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	// EndedAt is zero while it runs, and of one that is Lost.
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
	// ProgramLost: the tool server ended, and the program with it. Nobody saw how far it came.
	ProgramLost ProgramState = "Lost"
)
