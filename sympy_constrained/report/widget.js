export default {
  render({model, el}) {
    const frame = document.createElement('iframe');
    frame.sandbox = 'allow-scripts';
    frame.style.cssText = 'width:100%;border:0';
    const show = () => {
      frame.style.height = `${model.get('height')}px`;
      frame.srcdoc = model.get('html');
    };
    model.on('change:html change:height', show);
    show();
    el.append(frame);
  },
};
