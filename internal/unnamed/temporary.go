package unnamed

import "os"

// Temporary creates a temporary file without a name, if the system can: it disappears even if the process
// is killed. Otherwise the name is pattern as in os.CreateTemp, and remove removes the file, after it was
// closed on systems that require this.
func Temporary(dir, pattern string) (f *os.File, remove func(), err error) {
	if f, err = Create(dir); err == nil {
		return f, func() {}, nil
	}
	if f, err = os.CreateTemp(dir, pattern); err != nil {
		return nil, nil, err
	}
	name := f.Name()
	if os.Remove(name) == nil {
		return f, func() {}, nil
	}
	return f, func() { os.Remove(name) }, nil
}
