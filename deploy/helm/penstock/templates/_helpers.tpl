{{- define "penstock.name" -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- end }}
{{- define "penstock.engine" -}}{{ include "penstock.name" . }}-{{ .Values.pool.name }}{{- end }}
{{- define "penstock.labels" -}}
app.kubernetes.io/name: penstock
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "penstock.gatewayLabels" -}}
{{ include "penstock.labels" . }}
app.kubernetes.io/component: gateway
{{- end }}
{{- define "penstock.engineLabels" -}}
{{ include "penstock.labels" . }}
app.kubernetes.io/component: engine
penstock/pool: {{ .Values.pool.name }}
{{- end }}
{{- define "penstock.selector" -}}
app.kubernetes.io/instance={{ .Release.Name }},penstock/pool={{ .Values.pool.name }}
{{- end }}
{{- define "penstock.config" -}}
{{- $admin := ternary "[::]:9900" "127.0.0.1:9900" (ne .Values.drainToken.secretName "") -}}
listen: "[::]:8080"
metrics: "[::]:9901"
admin: {{ $admin | quote }}
{{- if .Values.drainToken.secretName }}
admin_token: {file: /etc/penstock/tokens/admin}
drain_token: {file: /etc/penstock/tokens/drain}
{{- end }}
keda:
  listen: "[::]:9902"
{{- if .Values.tls.secretName }}
  cert: /etc/penstock/tls/tls.crt
  key: /etc/penstock/tls/tls.key
  client_ca: /etc/penstock/tls/ca.crt
{{- end }}
pools:
  - name: {{ .Values.pool.name }}
    engine: {{ .Values.pool.engine }}
    models: [{{ .Values.engine.model | quote }}]
    slots: {{ .Values.pool.slots }}
    stall: {{ .Values.pool.stall }}
{{- with .Values.pool.warmup }}
    warmup: {prompts: {{ toJson . }}}
{{- end }}
    replicas:
{{- if eq .Values.discovery "watch" }}
      kubernetes:
        namespace: {{ .Release.Namespace }}
        selector: {{ include "penstock.selector" . | quote }}
        port: {{ .Values.engine.port }}
{{- else }}
      dns: {name: {{ include "penstock.engine" . }}.{{ .Release.Namespace }}.svc.cluster.local, port: {{ .Values.engine.port }}}
{{- end }}
    scaler:
      min: {{ .Values.scaling.min }}
      max: {{ .Values.scaling.max }}
{{- with .Values.scaling.warm }}
      warm: {{ . }}
{{- end }}
      out_above: {{ .Values.scaling.outAbove }}
      in_below: {{ .Values.scaling.inBelow }}
      in_after: {{ .Values.scaling.inAfter }}
      start_time: {{ .Values.scaling.startTime }}
      drain_deadline: {{ .Values.scaling.drainDeadline }}
{{- with .Values.scaling.costPerHour }}
      cost_per_hour: {{ . }}
{{- end }}
{{- end }}
