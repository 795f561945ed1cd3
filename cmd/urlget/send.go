package main

import (
	"cmp"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/formdata"
	"github.com/urlget/urlget/fetch/job"
)

// sending is what the flags say of content to send.
type sending struct {
	method   string
	data     texts
	postFile string
	answers  []answer
	form     []formdata.Part // the answers
	body     *formdata.Body  // and as schemes have them that take content
}

// An answer is a value of --form or, if it is a file's, of --form-file.
type answer struct {
	text string
	file bool
}

// addSendFlags defines the flags about what is sent with a request.
func addSendFlags(f *pflag.FlagSet, s *settings) {
	f.VarP(&s.send.data, "data", "d", "send `TEXT` by POST, or the lines of a file, as one: @FILE")
	f.Var(&s.send.data, "post-data", "the same as --data")
	f.StringVar(&s.send.postFile, "post-file", "", "send the content of `FILE` by POST, as it is (\"-\" for standard input)")
	f.StringVarP(&s.send.method, "method", "X", "", "use the request method `METHOD`")
	f.VarP(&formFlag{to: &s.send.answers}, "form", "F", "answer a question of a form, as in `'Name=value'` or 'Name=@FILE', which may end in ;type=TYPE and ;filename=NAME")
	f.Var(&formFlag{to: &s.send.answers, file: true}, "form-file", "answer with the content of a file, as in `'Name=PATH'`")
}

// texts is the value of a flag that may be given several times, and under several names.
type texts []string

func (t *texts) String() string { return strings.Join(*t, "&") }
func (t *texts) Type() string   { return "text" }

func (t *texts) Set(text string) error {
	*t = append(*t, text)
	return nil
}

// formFlag collects the values of --form or --form-file. What is wrong with one is found later, by
// what does not repeat it: it may be a secret.
type formFlag struct {
	to   *[]answer
	file bool
}

func (f *formFlag) String() string {
	if f.to == nil || len(*f.to) == 0 {
		return ""
	}
	return (*f.to)[len(*f.to)-1].text
}
func (f *formFlag) Type() string { return "field" }

func (f *formFlag) Set(text string) error {
	*f.to = append(*f.to, answer{text, f.file})
	return nil
}

// part reads an answer.
func (a answer) part() (formdata.Part, error) {
	name, value, ok := strings.Cut(a.text, "=")
	path, isFile := strings.CutPrefix(value, "@")
	switch {
	case a.file && (!ok || value == ""):
		return formdata.Part{}, usage("--form-file: want 'Name=PATH'")
	case !ok || isFile && path == "" && !a.file:
		return formdata.Part{}, usage("--form: want 'Name=value' or 'Name=@FILE'")
	case a.file:
		path = value
	case !isFile:
		return formdata.Part{Name: name, Value: value}, nil
	}
	p := formdata.Part{Name: name, File: path}
	if !a.file {
		p.File = cutOption(p.File, ";filename=", &p.FileName)
		p.File = cutOption(p.File, ";type=", &p.ContentType)
		p.File = cutOption(p.File, ";filename=", &p.FileName) // in whatever order
	}
	p.ContentType = cmp.Or(p.ContentType, fetch.TypeByName(cmp.Or(p.FileName, p.File)))
	return p, nil
}

// cutOption cuts an option and what follows it off a path, as curl has them: in
// FILE;type=text/plain.
func cutOption(path, option string, value *string) string {
	if before, after, ok := strings.Cut(path, option); ok && !strings.Contains(after, ";filename=") && !strings.Contains(after, ";type=") {
		*value = after
		return before
	}
	return path
}

// send says in j what is sent to each URL.
func (a *app) send(j *job.Job) error {
	s := &a.set.send
	ways := 0
	for _, given := range []bool{s.data != nil, s.postFile != "", s.answers != nil} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return usage("--data, --post-file and --form exclude each other")
	}
	if strings.ContainsAny(s.method, "/,*") {
		return &usageError{"--method: want one word", "wget's -X is --exclude-directories"}
	}
	j.Method = s.method
	switch {
	case s.data != nil:
		return a.sendData(j)
	case s.postFile != "":
		return a.sendFile(j)
	case s.answers != nil:
		return a.parseForm()
	}
	return nil
}

// parseForm reads the answers. The file "-" is standard input.
func (a *app) parseForm() error {
	s := &a.set.send
	for _, answer := range s.answers {
		p, err := answer.part()
		if err != nil {
			return err
		}
		if p.File == "-" && !answer.file {
			content, err := a.readFile("-")
			if err != nil {
				return fileError(err)
			}
			p.File, p.Value, p.FileName = "", string(content), cmp.Or(p.FileName, "-")
		}
		s.form = append(s.form, p)
	}
	var err error
	s.body, err = formdata.New(s.form)
	return fileError(err)
}

// sendData joins what --data gives, as curl does: the line ends of files and NULs are left out.
func (a *app) sendData(j *job.Job) error {
	list := make([]string, len(a.set.send.data))
	for i, text := range a.set.send.data {
		path, isFile := strings.CutPrefix(text, "@")
		if !isFile {
			list[i] = text
			continue
		}
		content, err := a.readFile(path)
		if err != nil {
			return fileError(err)
		}
		list[i] = strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(string(content))
	}
	switch text := strings.Join(list, "&"); {
	case text == "":
		j.Method = cmp.Or(j.Method, "POST")
	case len(text) > job.MaxData:
		j.Upload = func(req *fetch.Request) error {
			setType(req, "application/x-www-form-urlencoded")
			req.ContentLength = int64(len(text))
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
			return nil
		}
	default:
		j.Data = text
	}
	return nil
}

// readFile reads a file, or standard input if path is "-".
func (a *app) readFile(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(a.std.in)
	}
	return os.ReadFile(path)
}

// sendFile lets --post-file be read while it is sent. What is no regular file can be read but once.
func (a *app) sendFile(j *job.Job) error {
	path, contentType := a.set.send.postFile, "application/octet-stream"
	if j.Method == "" || j.Method == "POST" {
		contentType = "application/x-www-form-urlencoded"
	}
	file := a.std.in
	if path != "-" {
		var err error
		if file, err = os.Open(path); err != nil {
			return fileError(err)
		}
	}
	info, err := file.Stat()
	if err != nil {
		return fileError(err)
	}
	if path != "-" && info.Mode().IsRegular() {
		file.Close()
		j.Upload = func(req *fetch.Request) error {
			setType(req, contentType)
			if req.ContentLength = info.Size(); req.ContentLength == 0 {
				req.Method = cmp.Or(req.Method, "POST")
				return nil
			}
			req.GetBody = func() (io.ReadCloser, error) { return os.Open(path) }
			return nil
		}
		return nil
	}
	first := true
	j.Upload = func(req *fetch.Request) error {
		if !first {
			return usage("--post-file: %s can be sent but once", path)
		}
		first = false
		setType(req, contentType)
		req.Body = file
		return nil
	}
	return nil
}

// setType gives a request's content a type, unless the user did.
func setType(req *fetch.Request, contentType string) {
	if req.Header.Get("Content-Type") != "" {
		return
	}
	header := req.Header
	req.Header = make(map[string][]string, len(header)+1)
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", contentType)
}

// fillForm gives j the answers of --form: as content, if its scheme takes any, else as they are.
func (a *app) fillForm(j *job.Job) error {
	s := &a.set.send
	if s.form == nil {
		return nil
	}
	if scheme, _ := a.client.Scheme(j.URL.Scheme()); scheme.Bodies {
		j.Upload = func(req *fetch.Request) error {
			s.body.SetBody(req)
			return nil
		}
		return nil
	}
	j.Form = make(map[string][]string)
	for _, p := range s.form {
		value := p.Value
		if p.File != "" {
			content, err := os.ReadFile(p.File)
			if err != nil {
				return fileError(err)
			}
			value = string(content)
		}
		j.Form[p.Name] = append(j.Form[p.Name], value)
	}
	return nil
}
