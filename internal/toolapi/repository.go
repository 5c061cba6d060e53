// SPDX-License-Identifier: Apache-2.0

package toolapi

// PathRepository is for a git repository of what was given. A manager asks for one when the files have been put and no call was made,
// and only where the run has a tool that can use git: without the request there is none.
const PathRepository = "/v1/repository"

// FirstCommit is the message of the commit. The model is told of it before anybody knows whether there is one.
const FirstCommit = "The files that were given"

// Repository reports whether what was given is the first commit of a repository in the workspace. Where git is missing or anything is in
// the way there is none, which is no error.
type Repository struct {
	Made bool `json:"made"`
}
