// SPDX-License-Identifier: Apache-2.0

package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// maxFileProblem is the most of why a file could not be had, in bytes of JSON.
const maxFileProblem = 512

var (
	// errOtherContent reports that a file is not the one that was recorded with the answer: its ConfigMap was changed, for example.
	errOtherContent = errors.New("it has another content than when the answer was recorded")
	// errSecret reports that a file must not be given to a model.
	errSecret = errors.New("it holds what looks like a secret: have it stored as a credential of the run")
	// errNoFile reports that the response has no such file any more. The API server lets none be changed.
	errNoFile = errors.New("the answer has no such file")
)

// AnswerFiles are the files that go with the answers of a run. They are read from the run itself: the cached one has no contents.
//
//	answer ─► read, secret? ─► recorded with its digest ─► read again, same digest? ─► workspace ─► the model reads the answer
type AnswerFiles struct {
	Env    *runenv.Env
	Client *toolclient.Client
}

// Describe returns the files of the response to an ask as they are recorded. A file that cannot be had, or that holds a likely secret, has a
// problem: the model is told, and can ask again.
func (f AnswerFiles) Describe(ctx context.Context, a turn.Ask) ([]turn.File, error) {
	given, err := f.given(ctx)
	if err != nil {
		return nil, err
	}
	var files []turn.File
	left := int64(fit.MaxBucketBytes)
	for i := range given[a.ID] {
		file := turn.File{Path: f.Env.Known.Hide(inWorkspace(given[a.ID][i].Path))}
		err := f.describe(ctx, &given[a.ID][i], &file, &left)
		switch {
		case err == nil:
		case isAboutFile(err):
			file.Problem = f.shown(err.Error())
		default:
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// describe fills in what is recorded of a file. left is how many bytes may still come from the bucket.
func (f AnswerFiles) describe(ctx context.Context, r *v1alpha1.ResponseFile, file *turn.File, left *int64) error {
	if file.Path != inWorkspace(r.Path) {
		return fmt.Errorf("%w, in its name", errSecret)
	}
	if r.ArtifactRef != nil {
		a, err := artifact(ctx, f.Env, r.ArtifactRef)
		if err != nil {
			return err
		}
		if a.ConfigMapName == "" {
			if *left -= a.Size; *left < 0 {
				return errInputsTooLarge
			}
		}
		file.Size, file.MediaType, file.SHA256 = a.Size, a.MediaType, a.SHA256
		file.Web = toolapi.Provenance(cmp.Or(a.Provenance, string(toolapi.ProvenanceWeb))) == toolapi.ProvenanceWeb
		return nil
	}
	content, err := f.content(ctx, r)
	if err != nil {
		return err
	}
	watch := redacting.Watch{Known: f.Env.Known, Rules: true, Name: r.Path}
	if _, err := watch.Write(content); err != nil {
		return fmt.Errorf("%w (%w)", errSecret, err)
	}
	file.Size, file.MediaType, file.SHA256 = int64(len(content)), toolapi.MediaType(r.Path, content), toolapi.SHA256(content)
	return nil
}

// Put puts the recorded files of an ask into the workspace. A file with another content than the recorded one is not put there. The files that it
// returns have the problems of those that are not there.
func (f AnswerFiles) Put(ctx context.Context, a turn.Ask) ([]turn.File, error) {
	given, err := f.given(ctx)
	if err != nil {
		return nil, err
	}
	p, files := f.putter(), slices.Clone(a.Files)
	for i := range files {
		if files[i].Problem != "" {
			continue
		}
		err := p.putAnswer(ctx, given[a.ID], files[i].Path, files[i].SHA256)
		remote, isRemote := toolclient.RemoteProblem(err)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil, err
		case isRemote && remote.Code == toolapi.ErrPartMissing:
			// A tool server that was restarted in the middle of a file has lost it, and gets it again from the beginning.
			return nil, fmt.Errorf("put the files of an answer: %w: %w", runenv.ErrMissing, err)
		case isRemote:
			files[i].Problem = f.shown(remote.Message)
		case isAboutFile(err):
			files[i].Problem = f.shown(err.Error())
		default:
			return nil, err
		}
	}
	return files, nil
}

// putAll puts the files of all answers so far into a new workspace, in their order, and returns those that it must do without. The answer was
// used already, so one of its files does not end the run: the model is told that it is missing.
func (f AnswerFiles) putAll(ctx context.Context) (missing []journal.MissingFile, err error) {
	var asks []v1alpha1.StepAsk
	for _, s := range f.Env.Entries.AllSteps() {
		asks = append(asks, slices.DeleteFunc(slices.Clone(s.Status.Asks), func(a v1alpha1.StepAsk) bool { return len(a.Files) == 0 })...)
	}
	if len(asks) == 0 {
		return nil, nil
	}
	given, err := f.given(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range asks {
		// The bound for files from the bucket is that of one answer: all files that were given once must be given again.
		p := f.putter()
		for _, file := range a.Files {
			// A workspace of an attempt before may have lacked it for a reason that is over.
			if file.Problem != "" && (file.MissingInAttempt == 0 || file.MissingInAttempt == f.Env.Entries.Attempt()) {
				continue
			}
			err := p.putAnswer(ctx, given[a.ID], file.Path, file.SHA256)
			if err == nil {
				continue
			}
			problem, err := p.problem(ctx, err)
			if err != nil {
				return nil, err
			}
			f.Env.Log.Warn("a new workspace lacks a file of an answer", "ask", a.ID, "file", file.Path, "problem", problem)
			missing = append(missing, journal.MissingFile{AskID: a.ID, Path: file.Path, Problem: f.shown(problem)})
		}
	}
	return missing, nil
}

// shown is a problem of a file as it is recorded.
func (f AnswerFiles) shown(problem string) string {
	return fit.CutEncoded(f.Env.Known.Hide(problem), maxFileProblem)
}

func (f AnswerFiles) putter() *inputPutter {
	return &inputPutter{env: f.Env, client: f.Client, left: fit.MaxBucketBytes}
}

// given returns the files of the responses by the ask that they answer.
func (f AnswerFiles) given(ctx context.Context) (map[string][]v1alpha1.ResponseFile, error) {
	var run v1alpha1.MotorRun
	if err := f.Env.Live.Get(ctx, client.ObjectKeyFromObject(f.Env.Run), &run); err != nil {
		return nil, fmt.Errorf("read the files of an answer: %w", err)
	}
	if run.UID != f.Env.Run.UID {
		return nil, errors.New("read the files of an answer: another run has its name by now")
	}
	files := map[string][]v1alpha1.ResponseFile{}
	for _, r := range run.Spec.Responses {
		files[r.ID] = r.Files
	}
	return files, nil
}

// content reads a file that is not an artifact.
func (f AnswerFiles) content(ctx context.Context, r *v1alpha1.ResponseFile) ([]byte, error) {
	switch {
	case r.Content != nil:
		return []byte(*r.Content), nil
	case r.ConfigMapKeyRef != nil:
		return meantContent(ctx, f.Env, r.ConfigMapKeyRef)
	}
	return r.BinaryContent, nil
}

// putAnswer puts the file with that path in the workspace there, if its content has the digest.
func (p *inputPutter) putAnswer(ctx context.Context, given []v1alpha1.ResponseFile, path, sum string) error {
	i := slices.IndexFunc(given, func(r v1alpha1.ResponseFile) bool { return inWorkspace(r.Path) == path })
	if i < 0 {
		return errNoFile
	}
	if ref := given[i].ArtifactRef; ref != nil {
		a, err := artifact(ctx, p.env, ref)
		if err != nil {
			return err
		}
		if a.SHA256 != sum {
			return errOtherContent
		}
		return p.putEntry(ctx, path, ref, a)
	}
	content, err := AnswerFiles{Env: p.env}.content(ctx, &given[i])
	if err != nil {
		return err
	}
	if toolapi.SHA256(content) != sum {
		return errOtherContent
	}
	return p.put(ctx, path, content, toolapi.ProvenanceInternal)
}

// inWorkspace is the path of a file of a response in the workspace.
func inWorkspace(path string) string { return toolapi.AnswersDir + "/" + path }
