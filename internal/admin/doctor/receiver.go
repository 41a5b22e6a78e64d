package doctor

import (
	"context"
	"time"

	"fika/internal/service"
	"fika/internal/text/hint"
)

// checkReceivers looks for receivers of events, and for a collector of traces, that fail or
// have refused something.
func (d *examination) checkReceivers(ctx context.Context) {
	c, err := service.Open(ctx, d.app, d.who)
	if err != nil {
		return // checkStore has said so
	}
	list, err := c.Webhooks().List(ctx)
	if err != nil {
		d.add("receivers", Problem, "", "cannot be listed: %v", err)
		return
	}
	bad := 0
	for _, w := range list {
		before := len(d.out)
		if w.Secret != nil {
			d.add("receivers", Note, "", "%s: %v", w.Webhook.URL, w.Secret)
		}
		if w.Tries > 0 {
			d.add("receivers", Problem, hint.WebhookRetryAll.With()+" tries it at once", "%s fails since %s: %s", w.Webhook.URL, w.Failing.Local().Format(time.DateTime), w.Error)
		}
		if n := len(w.Refused); n > 0 {
			d.add("receivers", Problem, hint.WebhookList.With()+" shows all; "+hint.WebhookRetry.With()+" sends them again", "%s has refused %d, the last: %s", w.Webhook.URL, n, w.Refused[n-1].Error)
		}
		if len(d.out) > before {
			bad++
		}
	}
	if bad == 0 && len(list) > 0 {
		d.add("receivers", Fine, "", "none of %d fails", len(list))
	}
}
