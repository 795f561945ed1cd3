package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// An action is what a command does to each URL.
type action struct {
	op      fetch.Op
	offline bool                                  // nothing is sent
	check   func() error                          // looks at the flags first; or nil
	prepare func(*job.Job) error                  // completes what the flags say of each URL; or nil
	do      func(context.Context, *job.Job) ended // to one URL
}

// checkFiles finds flags that name an empty file or directory. They do not count as not given: what
// was meant is elsewhere.
func checkFiles(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		what, _ := pflag.UnquoteUsage(f)
		if (what != "FILE" && what != "DIR") || f.Value.String() != "" || err != nil {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand
		}
		err = &usageError{name + " is given, but its " + what + " is empty", "perhaps a variable of the shell is not set"}
	})
	return err
}

// each returns the body of a command.
func (a *app) each(act action) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.set.flags = cmd.Flags()
		if err := a.configure(cmd); err != nil {
			return err
		}
		if err := checkFiles(cmd.Flags()); err != nil {
			return err
		}
		if u, err := uri.ParseLoose(a.set.output); err == nil && u.IsAbs() && u.HasAuthority() || strings.HasPrefix(a.set.output, "-") && a.set.output != "-" {
			return &usageError{"-O " + a.set.output + " names no file", "curl's -O is the default here; ./" + a.set.output + " is a file"}
		}
		for _, field := range a.set.header {
			if strings.HasPrefix(field, "-") {
				return &usageError{"-H " + fetch.Printable(field) + " is no field: want 'Name: value'", "wget's -H is --span-hosts"}
			}
			if u, err := uri.ParseLoose(field); err == nil && u.IsAbs() && u.HasAuthority() {
				return &usageError{"-H " + fetch.Printable(u.Redacted()) + " is no field: want 'Name: value'", "wget's -H is --span-hosts"}
			}
		}
		for _, text := range a.set.send.data {
			if info, err := os.Stat(text); err == nil && info.IsDir() && filepath.IsAbs(text) {
				return &usageError{"-d sends text, and " + fetch.Printable(text) + " is a directory", "aria2's -d is -P DIR"}
			}
		}
		if len(args) == 0 && a.set.list.file == "" {
			return noURL(cmd)
		}
		if detached, err := a.openLog(args); detached || err != nil {
			return err
		}
		if a.set.insecure && !act.offline && !a.set.quiet {
			a.con.warn("certificates are not checked (--insecure)")
		}
		if a.set.quiet && a.set.verbose {
			return usage("-q and -v exclude each other")
		}
		if err := a.login(); err != nil {
			return err
		}
		if a.set.ask && !act.offline && !a.prompt.possible() {
			return usage("--ask-password: there is no terminal to ask for the password at")
		}
		if act.check != nil {
			if err := act.check(); err != nil {
				return err
			}
		}
		if a.set.output != "" && a.set.output != "-" && len(args) > 1 {
			return &usageError{"-O names one file, but there are several URLs", "-P DIR saves all of them in a directory"}
		}
		if !act.offline {
			a.openDisplay(cmd.Context())
		}
		if err := a.set.many.check(&a.set); err != nil {
			return err
		}
		if err := a.set.list.check(); err != nil {
			return err
		}
		a.inOrder = act.op != fetch.OpGet || act.offline || a.set.many.jobs == 1 ||
			a.set.compose || a.set.parts || a.set.tree.on()
		a.set.driver.web.Single = len(args) == 1 && a.set.list.file == "" && !a.set.tree.on()
		err := a.set.cookies.open()
		if err != nil {
			return err
		}
		if a.client, err = a.newClient(); err != nil {
			return err
		}
		// Mistakes in what describes the jobs are found before the first, and before a file is made.
		template, err := a.template(act.op)
		if err != nil {
			return err
		}
		if act.prepare != nil {
			a.openEvents()
		}
		if !a.understood(args) {
			return nil // the user was told
		}
		ctx, err := a.openArchives(cmd.Context(), args, act.offline)
		if err != nil {
			return err
		}
		cmd.SetContext(ctx)
		if a.archives.capture != nil || a.archives.replay != nil {
			a.client.Close() // which knew nothing of them
			if a.client, err = a.newClient(); err != nil {
				return err
			}
		}
		a.files = &download.Downloader{Client: a.client, Tool: "urlget " + programVersion(), Sync: a.set.sync}
		if act.prepare != nil {
			err := act.prepare(template)
			if wrong := (*job.FieldError)(nil); err == nil && errors.As(template.Validate(), &wrong) {
				err = usage("-O: %s", wrong.Reason) // the rest was valid before
			}
			if err != nil {
				return err
			}
		}
		a.hosts = a.schedule()
		begun := time.Now()
		b := &batch{do: a.inTime(act.do), template: template, job: func(ctx context.Context, j *job.Job) error {
			if err := a.fillForm(j); err != nil {
				return err
			}
			return a.checksum(ctx, j)
		}}
		list, err := a.openList(ctx, act.offline)
		if err == nil {
			err = a.all(ctx, args, list, b)
		}
		if act.op == fetch.OpGet && a.set.output != "-" && !a.set.quiet && !a.set.json && !act.offline && len(a.seeds) == 0 {
			io.WriteString(a.con.prose(), a.tally.summary(time.Since(begun), a.con.paint, 2))
			if cmd.Context().Err() != nil && (list != nil || len(args) > 1) {
				a.say("%s", a.goOn())
			}
		}
		return err
	}
}

// goOn says how to go on with several URLs after an interruption.
func (a *app) goOn() string {
	if a.set.resume || a.set.newer || a.set.keep {
		return "the same command goes on from here"
	}
	return "the same command with -c goes on from here"
}

// inTime ends what do does with one URL after --max-time.
func (a *app) inTime(do func(context.Context, *job.Job) ended) func(context.Context, *job.Job) ended {
	limit := time.Duration(a.set.maxTime)
	if limit <= 0 {
		return do
	}
	return func(ctx context.Context, j *job.Job) ended {
		ctx, cancel := context.WithTimeoutCause(ctx, limit,
			&fetch.Error{Code: fetch.ErrNetwork, Err: fmt.Errorf("not done within %v (--max-time)", limit)})
		defer cancel()
		return do(ctx, j)
	}
}

// template returns what the flags say of each URL.
func (a *app) template(op fetch.Op) (*job.Job, error) {
	j, err := a.set.job(op)
	if err == nil {
		err = a.send(j)
	}
	if err == nil && a.set.checksum != "" {
		a.checksums(j)
	}
	if err != nil {
		return nil, err
	}
	if wrong := (*job.FieldError)(nil); errors.As(j.Validate(), &wrong) {
		return nil, usage("--%s: %s", wrong.Field, wrong.Reason)
	}
	return j, nil
}

// understood reports whether all arguments are URLs. If one is not, the user is told, and nothing
// is retrieved: what was meant may be quite different.
func (a *app) understood(args []string) bool {
	ok := true
	for _, arg := range args {
		subject, _, err := a.parse(arg)
		if err != nil {
			a.fail(subject, err)
			ok = false
		}
	}
	return ok
}

// parse reads a URL as the user wrote it, and returns how messages name it.
func (a *app) parse(text string) (subject string, u uri.URI, err error) {
	u, err = uri.ParseLoose(text)
	if wrong := (*uri.Error)(nil); errors.As(err, &wrong) {
		return wrong.Input, u, &fetch.Error{Code: fetch.ErrURL, Err: errors.New(wrong.Reason), Hint: a.set.misread(strings.TrimSpace(text))}
	}
	if err == nil {
		err = a.checkScheme(u, strings.TrimSpace(text))
	}
	subject = u.Redacted()
	if err != nil && !u.IsAbs() && !u.HasAuthority() {
		subject = strings.TrimSpace(text) // as it was written: it may be anything
		if len(subject) > maxShown {
			subject = strings.ToValidUTF8(subject[:maxShown], "") + "…"
		}
	}
	return subject, u, err
}

// maxShown is how much is repeated of what is no URL, in bytes.
const maxShown = 200

// checkScheme refuses what has no scheme, or one that is probably mistyped. It is not guessed, but
// a hint says what text, from which u was read, may have meant.
func (a *app) checkScheme(u uri.URI, text string) error {
	if u.IsAbs() && !a.isHostPort(u) {
		return a.checkSpelling(u)
	}
	wrong := &usageError{text: "the URL has no scheme"}
	switch _, err := os.Lstat(text); {
	case text == "":
		wrong.text = "the URL is empty"
	case err == nil:
		if path, err := filepath.Abs(text); err == nil {
			if file, err := (uri.File{Path: filepath.ToSlash(path)}).URI(); err == nil {
				wrong.hint = "did you mean " + file.String() + " ?"
			}
		}
	case a.set.misread(text) != "":
		wrong.hint = a.set.misread(text)
	case strings.ContainsAny(text, ".:/") && !strings.HasPrefix(text, "."):
		scheme := guessed
		if u.IsAbs() && !strings.HasPrefix(u.Path(), "443") { // a host and its port
			scheme = guessedWithPort
		}
		wrong.hint = "did you mean " + scheme + "://" + strings.TrimLeft(text, "/") + " ?"
	}
	return wrong
}

// checkSpelling refuses a scheme that is not known but resembles one that is.
func (a *app) checkSpelling(u uri.URI) error {
	name := u.Scheme()
	if _, known := a.client.Scheme(name); known || a.set.gateway != nil {
		return nil
	}
	var all []string
	for _, s := range a.client.Schemes() {
		all = append(all, s.Name)
	}
	nearest := uri.NearestScheme(name, all)
	if nearest == "" {
		return nil
	}
	return &fetch.Error{Code: fetch.ErrScheme, Err: fmt.Errorf("%q is not registered", name),
		Hint: "did you mean " + nearest + u.Redacted()[len(name):] + " ?"}
}

// isHostPort reports whether u, such as localhost:8080/x, is meant as a host and a port.
func (a *app) isHostPort(u uri.URI) bool {
	port, _, _ := strings.Cut(u.Path(), "/")
	if port == "" || strings.Trim(port, "0123456789") != "" || u.HasAuthority() || a.set.gateway != nil {
		return false
	}
	_, known := a.client.Scheme(u.Scheme())
	return !known
}
