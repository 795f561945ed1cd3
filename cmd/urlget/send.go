package main

import (
	"cmp"
	"io"
	"os"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/formdata"
	"github.com/urlget/urlget/fetch/job"
)

// A sender knows the content to send.
type sender struct {
	opts *flags.Options
	in   *os.File        // standard input
	form []formdata.Part // the answers of --form
	body *formdata.Body  // and as schemes have them that take content
}

// answerPart reads an answer.
func answerPart(a flags.Answer) (formdata.Part, error) {
	name, value, ok := strings.Cut(a.Text, "=")
	path, isFile := strings.CutPrefix(value, "@")
	switch {
	case a.File && (!ok || value == ""):
		return formdata.Part{}, failure.Usagef("--form-file: want 'Name=PATH'")
	case !ok || isFile && path == "" && !a.File:
		return formdata.Part{}, failure.Usagef("--form: want 'Name=value' or 'Name=@FILE'")
	case a.File:
		path = value
	case !isFile:
		return formdata.Part{Name: name, Value: value}, nil
	}
	p := formdata.Part{Name: name, File: path}
	if !a.File {
		p.File = cutOption(p.File, ";filename=", &p.FileName)
		p.File = cutOption(p.File, ";type=", &p.ContentType)
		p.File = cutOption(p.File, ";filename=", &p.FileName) // in whatever order
	}
	p.ContentType = cmp.Or(p.ContentType, driver.TypeByName(cmp.Or(p.FileName, p.File)))
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
func (snd *sender) send(j *job.Job) error {
	s := &snd.opts.Send
	if err := snd.opts.CheckSend(); err != nil {
		return err
	}
	j.Method = s.Method
	switch {
	case s.Data != nil:
		return snd.sendData(j)
	case s.PostFile != "":
		return snd.sendFile(j)
	case s.Answers != nil:
		return snd.parseForm()
	}
	return nil
}

// parseForm reads the answers. The file "-" is standard input.
func (snd *sender) parseForm() error {
	s := &snd.opts.Send
	for _, answer := range s.Answers {
		p, err := answerPart(answer)
		if err != nil {
			return err
		}
		if p.File == "-" && !answer.File {
			content, err := snd.readFile("-")
			if err != nil {
				return failure.File(err)
			}
			p.File, p.Value, p.FileName = "", string(content), cmp.Or(p.FileName, "-")
		}
		snd.form = append(snd.form, p)
	}
	var err error
	snd.body, err = formdata.New(snd.form)
	return failure.File(err)
}

// sendData joins what --data gives, as curl does: the line ends of files and NULs are left out.
func (s *sender) sendData(j *job.Job) error {
	list := make([]string, len(s.opts.Send.Data))
	for i, text := range s.opts.Send.Data {
		path, isFile := strings.CutPrefix(text, "@")
		if !isFile {
			list[i] = text
			continue
		}
		content, err := s.readFile(path)
		if err != nil {
			return failure.File(err)
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
func (s *sender) readFile(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(s.in)
	}
	return os.ReadFile(path)
}

// sendFile lets --post-file be read while it is sent. What is no regular file can be read but once.
func (s *sender) sendFile(j *job.Job) error {
	path, contentType := s.opts.Send.PostFile, "application/octet-stream"
	if j.Method == "" || j.Method == "POST" {
		contentType = "application/x-www-form-urlencoded"
	}
	file := s.in
	if path != "-" {
		var err error
		if file, err = os.Open(path); err != nil {
			return failure.File(err)
		}
	}
	info, err := file.Stat()
	if err != nil {
		return failure.File(err)
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
			return failure.Usagef("--post-file: %s can be sent but once", path)
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
func (s *sender) fillForm(client *fetch.Client, j *job.Job) error {
	if s.form == nil {
		return nil
	}
	if scheme, _ := client.Scheme(j.URL.Scheme()); scheme.Bodies {
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
				return failure.File(err)
			}
			value = string(content)
		}
		j.Form[p.Name] = append(j.Form[p.Name], value)
	}
	return nil
}
