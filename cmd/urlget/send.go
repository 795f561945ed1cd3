package main

import (
	"cmp"
	"io"
	"maps"
	"net/textproto"
	"os"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/formdata"
	"github.com/urlget/urlget/fetch/job"
)

func formPart(a flags.FormValue) (formdata.Part, error) {
	name, value, ok := strings.Cut(a.Text, "=")
	path, isFile := strings.CutPrefix(value, "@")
	switch {
	case a.File && (!ok || value == ""):
		return formdata.Part{}, failure.Usagef("--form-file: must be 'Name=PATH'")
	case !ok || isFile && path == "" && !a.File:
		return formdata.Part{}, failure.Hinted("--form: must be 'Name=value' or 'Name=@FILE'",
			"HTTPie's --form NAME=VALUE is -d NAME=VALUE")
	case a.File:
		path = value
	case !isFile:
		return formdata.Part{Name: name, Value: value}, nil
	}
	p := formdata.Part{Name: name, File: path}
	if !a.File {
		p.File = cutOption(p.File, ";filename=", &p.FileName)
		p.File = cutOption(p.File, ";type=", &p.ContentType)
		p.File = cutOption(p.File, ";filename=", &p.FileName) // in any order
	}
	p.ContentType = cmp.Or(p.ContentType, fetch.TypeByName(cmp.Or(p.FileName, p.File)))
	return p, nil
}

// cutOption cuts a curl option such as ";type=text/plain", and everything after it, off a path.
func cutOption(path, option string, value *string) string {
	if before, after, ok := strings.Cut(path, option); ok && !strings.Contains(after, ";filename=") &&
		!strings.Contains(after, ";type=") {
		*value = after
		return before
	}
	return path
}

// An upload is the request body that flags describe.
type upload struct {
	opts  *flags.Send
	stdin *os.File
	parts []formdata.Part // the fields of --form
	form  *formdata.Body  // parts encoded as a request body
}

func (b *upload) describe(j *job.Job) error {
	s := b.opts
	j.Method = s.Method
	switch {
	case s.Data != nil:
		return b.sendData(j)
	case s.PostFile != "":
		return b.sendFile(j)
	case s.Form != nil:
		return b.parseForm()
	}
	return nil
}

// parseForm parses the form fields. The file "-" is standard input.
func (b *upload) parseForm() error {
	s := b.opts
	for _, value := range s.Form {
		p, err := formPart(value)
		if err != nil {
			return err
		}
		if p.File == "-" && !value.File {
			content, err := b.readFile("-")
			if err != nil {
				return failure.File(err)
			}
			p.File, p.Value, p.FileName = "", string(content), cmp.Or(p.FileName, "-")
		}
		b.parts = append(b.parts, p)
	}
	var err error
	b.form, err = formdata.New(b.parts)
	return failure.File(err)
}

// sendData joins the values of --data as curl does: it removes line ends of files and NULs.
func (b *upload) sendData(j *job.Job) error {
	list := make([]string, len(b.opts.Data))
	for i, text := range b.opts.Data {
		path, isFile := strings.CutPrefix(text, "@")
		if !isFile {
			list[i] = text
			continue
		}
		content, err := b.readFile(path)
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

func (b *upload) readFile(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(b.stdin)
	}
	return os.ReadFile(path)
}

// sendFile opens --post-file for streaming. Only a regular file can be sent more than once.
func (b *upload) sendFile(j *job.Job) error {
	path, contentType := b.opts.PostFile, "application/octet-stream"
	if j.Method == "" || j.Method == "POST" {
		contentType = "application/x-www-form-urlencoded"
	}
	file := b.stdin
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
			return failure.Usagef("--post-file: %s can be sent only once", path)
		}
		first = false
		setType(req, contentType)
		req.Body = file
		return nil
	}
	return nil
}

func setType(req *fetch.Request, contentType string) {
	if req.Header.Get("Content-Type") != "" {
		return
	}
	header := make(textproto.MIMEHeader)
	maps.Copy(header, req.Header)
	header.Set("Content-Type", contentType)
	req.Header = header
}

// fillForm sets the fields of --form in j: as a request body if the scheme has one, else as fields.
func (b *upload) fillForm(client *fetch.Client, j *job.Job) error {
	if b.parts == nil {
		return nil
	}
	if scheme, _ := client.Scheme(j.URL.Scheme()); scheme.Bodies {
		j.Upload = func(req *fetch.Request) error {
			b.form.SetBody(req)
			return nil
		}
		return nil
	}
	j.Form = make(map[string][]string)
	for _, p := range b.parts {
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
